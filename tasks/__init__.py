"""One step each, named by its verb; plain functions with a thin Prefect task around them."""
