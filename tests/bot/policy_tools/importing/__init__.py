"""Hold importing against oracles written from the products' own documentation."""
