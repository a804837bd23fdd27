"""Compare random programs: ``python -m tests.compiler.programs 1000 --jobs 4``."""

import argparse
import sys
import time

from tests.compiler.programs.running import reports_in_processes


def main() -> None:
    parser = argparse.ArgumentParser(description="compare random programs")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400 * 1_000_000)
    parser.add_argument("--jobs", type=int, default=1, help="processes to run")
    options = parser.parse_args()
    done = failures = 0
    for reports in reports_in_processes(options.seed, options.count, options.jobs):
        done += len(reports)
        for report in filter(None, reports):
            failures += 1
            sys.stdout.write(f"\n{report}\n")
        sys.stdout.write(f"\r{done} of {options.count} programs, {failures} failures")
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
