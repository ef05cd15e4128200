"""The shipped methods, one file each; variants of a method stand beside it."""
