"""How long a fresh process takes to read a text: `python -m benchmarks._reader_cold FILE`.

Modules are imported before the clock runs, as they are when a site has started; nothing has been read yet.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

MAX_PIECES = 1000  # pieces of code that a text may have


def milliseconds(text: Path, processes: int) -> list[float]:
    """CPU time of the first reading of a text in each of so many processes."""
    command = [sys.executable, "-m", "benchmarks._reader_cold", str(text)]
    done = [subprocess.run(command, capture_output=True, check=True) for _ in range(processes)]
    return [json.loads(process.stdout) for process in done]


def main() -> None:
    """Read the file that is named, and print the milliseconds of CPU time."""
    from inference.isa.blocks import read

    text = Path(sys.argv[1]).read_text()
    began = time.process_time()
    read(text, MAX_PIECES)
    print(json.dumps(round((time.process_time() - began) * 1000, 2)))


if __name__ == "__main__":
    main()
