"""Suite files: YAML to questions, one module a data source."""
