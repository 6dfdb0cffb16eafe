"""Choose between the student there is and the new one, with how sure that is."""
