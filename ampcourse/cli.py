"""The `ampcourse` command: reads arguments, calls the part that does the work, prints errors."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 not as it should be, 2 misuse."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["lab"], ["test"]):  # these pass their arguments through
        from ampcourse import launch

        return getattr(launch, arguments[0])(arguments[1:])
    if arguments[:1] in (["benchmark"], ["report"]):  # these read their own
        return run_measuring(arguments[0], arguments[1:])
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (ValueError, OSError) as error:
        print(f"ampcourse {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"ampcourse {options.command}: stopped", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    root = argparse.ArgumentParser(prog="ampcourse", description="The course on mixed precision.")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("lab", help="open the course in JupyterLab")
    commands.add_parser("test", help="run the whole test suite")
    commands.add_parser("benchmark", help="measure training in several kinds of arithmetic")
    commands.add_parser("report", help="compare what was measured with others and with limits")
    build = commands.add_parser("build", help="derive the notebooks from notebooks/source")
    build.add_argument("lessons", nargs="*", metavar="NN", help="which lessons; all if none")
    build.add_argument("--check", action="store_true", help="only say what is not up to date")
    build.set_defaults(run=run_build)
    grade = commands.add_parser("grade", help="grade learners' notebooks")
    grade.add_argument("files", nargs="+", type=Path, metavar="FILE")
    grade.add_argument("--json", action="store_true", help="print the reports as JSON")
    grade.set_defaults(run=run_grade)
    diagnose = commands.add_parser("diagnose", help="run a training script, say what is wrong")
    diagnose.add_argument("script", type=Path, metavar="SCRIPT")
    diagnose.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="its own")
    diagnose.set_defaults(run=run_diagnose)
    return root


def run_measuring(command: str, arguments: Sequence[str]) -> int:
    """Run `benchmark`, which ends with a report of its rows, or `report`."""
    try:
        from ampcourse.benchmark import command as benchmark
        from ampcourse.report import command as report
    except ModuleNotFoundError as error:
        print(
            f"ampcourse {command}: {error.name} is missing here. It needs torch, torchvision, "
            "numpy, matplotlib, tqdm, pandas and scikit-learn; `python3 -m ampcourse lab "
            "--no-browser` sets up an environment with them.",
            file=sys.stderr,
        )
        return 2
    if command == "report":
        return report.main(arguments)

    def finish(rows: Path) -> int:
        figure = str(rows.with_suffix(".svg"))
        return report.main([str(rows), "--figure", figure])

    return benchmark.main(arguments, finish)


def run_build(options: argparse.Namespace) -> int:
    """Build the lessons, or say which notebooks differ from what their sources build."""
    from ampcourse.courseware.build import build, stale
    from ampcourse.courseware.course import find_course

    course = find_course()
    slugs = course.select(options.lessons)
    if options.check:
        differences = [line for slug in slugs for line in stale(course, slug)]
        print("\n".join(differences) or f"{len(slugs)} lessons are up to date")
        return 1 if differences else 0
    for slug in slugs:
        print(f"building {slug}", flush=True)
        build(course, slug)
    return 0


def run_grade(options: argparse.Namespace) -> int:
    """Grade the files and print a report for each; 1 if one could not be graded."""
    from ampcourse.courseware.course import find_course
    from ampcourse.courseware.grade import grade_files
    from ampcourse.courseware.report import as_json, as_text

    reports = []
    for report in grade_files(find_course(), options.files):
        reports.append(report)
        if not options.json:
            print(as_text(report), flush=True)
    if options.json:
        print(as_json(reports))
    return int(any(report.problem for report in reports))


def run_diagnose(options: argparse.Namespace) -> int:
    """Run a script under `watch` and print what was found; its own status, or 1 for findings."""
    from ampcourse.diagnose.script import run_script

    return run_script(options.script, options.arguments)
