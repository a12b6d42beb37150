"""How is something shown as a page, or drawn? Elements whose text is never markup, tables with bars in their cells,
strips, columns, and the shell of a page that asks nothing of the network. Knows nothing of tables and indexes."""
