#!/usr/bin/env python3
"""Prints, for each column of a CSV file, its type, how many values are missing, and its range."""

import csv
import sys


def kind(values):
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        return "text", f"{len(set(values))} distinct"
    return "number", f"{min(numbers):g} to {max(numbers):g}"


def main():
    if len(sys.argv) != 2 or sys.argv[1] == "--help":
        print("usage: summarise.py FILE", file=sys.stderr)
        return 2
    with open(sys.argv[1], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for column in rows[0] if rows else []:
        values = [row[column] for row in rows if row[column]]
        name, extent = kind(values) if values else ("empty", "-")
        print(f"{column}\t{name}\tmissing {len(rows) - len(values)}\t{extent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
