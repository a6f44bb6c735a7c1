"""Page handlers: parse, call one operation or query, render (house style, line 64)."""
