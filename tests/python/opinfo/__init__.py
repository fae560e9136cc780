"""Tables that describe the operators under test: names, promotion rules, references, domains."""
