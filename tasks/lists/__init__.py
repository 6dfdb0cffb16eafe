"""A round's scored lists in the formats of other trainers, and scores made elsewhere in."""
