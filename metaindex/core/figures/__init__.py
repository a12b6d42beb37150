"""HTML pages and drawings: elements that escape their text, tables with bars in their cells, strips, columns, and the
shell of a page that loads nothing from the network. Knows nothing of tables and indexes."""
