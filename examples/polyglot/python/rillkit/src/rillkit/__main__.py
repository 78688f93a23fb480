"""The command rillkit: reads numbers from standard input, prints their statistics."""

import argparse
import sys

from rillkit import COMMIT, ENGINE, VERSION


def main() -> None:
    parser = argparse.ArgumentParser(prog="rillkit", description=__doc__)
    parser.add_argument("--every", type=int, default=100, metavar="N", help="numbers in a window (100)")
    parser.add_argument("--version", action="version", version=f"rillkit {VERSION} {COMMIT} ({ENGINE})")
    options = parser.parse_args()
    from rillkit.report import report

    print(report((float(word) for line in sys.stdin for word in line.split()), options.every))


if __name__ == "__main__":
    main()
