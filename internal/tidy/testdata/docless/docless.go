package docless
