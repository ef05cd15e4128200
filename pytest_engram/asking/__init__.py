"""Questions to memories: what was recalled, under the rules. No gold is here."""
