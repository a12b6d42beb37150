"""Tools for agents by the Model Context Protocol: read only, confined, and within a budget of bytes."""
