"""Help of pages about what is measured: instruction sets, experiments, sets, machines."""

from __future__ import annotations

from pmweb.help.text import Help

PAGES = {
    "isas": Help(
        "The instruction sets, each a list of [[scheme]]s that [[experiment]]s and mappings speak of.",
        can=("Open one and search its schemes.",),
        operators=("Load another one from a document.",),
    ),
    "isa": Help(
        "All [[scheme]]s of an instruction set with extension, kind, memory access and width.",
        can=(
            "Search: words, mnemonic:imul, ext:AVX2, -memory:none; “How to search” has all keys.",
            "Search by a name that assemblers, uops.info or LLVM have: addq, ADD_R64_R64, ADD64rr.",
            "Open a scheme for everything known about it.",
        ),
    ),
    "isa-load": Help(
        "Where an instruction set is loaded from a document.",
        operators=("Choose the file; a set of the same name is brought up to date.",),
    ),
    "scheme": Help(
        "Everything known about one [[scheme]]: its [[µop]]s in every mapping, its measurements, "
        "[[witness]]es, [[residual]]s and discoveries.",
        can=(
            "Open a mapping with the scheme pinned in its graph.",
            "Follow “why” to the witnesses of its µops.",
            "Download its experiments as CSV.",
        ),
    ),
    "instruction": Help(
        "All forms of one instruction on CPUs side by side: the [[port]]s that each [[µop]] can use, the "
        "cycles of one instance, latencies, issue slots, and how well that is established.",
        can=(
            "Type a mnemonic into the search box to come here.",
            "Open the experiment behind the cycles, the chains behind a latency, the witnesses of the µops.",
            "Put further CPUs beside, or take one away: the address keeps them.",
        ),
    ),
    "experiments": Help(
        "A mix of instructions that you put together, and what each mapping predicts for it.",
        can=(
            "Search schemes, set how many of each, and see the [[bottleneck set]] in the picture.",
            "The address holds the mix: share it.",
        ),
    ),
    "experiment": Help(
        "One [[experiment]]: its µops stacked on [[port]]s, what mappings and tools predict, and what "
        "was measured.",
        can=(
            "Choose another mapping for the picture; the fullest ports are the [[bottleneck set]].",
            "Copy the machine code that ran, or as a snippet for llvm-exegesis.",
        ),
        operators=("Measure it again on a machine.",),
    ),
    "sets": Help(
        "All [[experiment set]]s: measured [[inverse throughput]]s that mappings are inferred from and "
        "judged by.",
        can=(
            "Filter and sort; open a set for its experiments.",
            "Compare two sets of the same experiments.",
        ),
        operators=("Upload a file, merge sets, or infer a mapping from one.",),
    ),
    "set": Help(
        "The measurements of one set, with where they come from and how they were made.",
        can=(
            "Filter by scheme, length and state; open a row for its [[experiment]].",
            "Export the set as CSV or JSON.",
        ),
        operators=("Infer a mapping from it, or test a mapping on it.",),
    ),
    "set-conflicts": Help(
        "Which schemes of a set compete, from what each takes alone and in pairs: no port mapping is needed. "
        "Schemes that wait for one another stand together.",
        can=(
            "Click a cell for the experiments behind it, or a scheme for all that it competes with.",
            "Look at classes instead of schemes, search, or take all pairs away as CSV.",
        ),
    ),
    "set-edit": Help(
        "Name and note of a set.",
        operators=("Write what others need to know about it.",),
    ),
    "set-delete": Help(
        "What would be deleted with this set, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "sets-compare": Help(
        "Two sets of measurements beside each other: do they agree on the experiments that both have?",
        can=(
            "Click a bin of the [[heat map]] for its experiments.",
            "See by length and by scheme where they differ; download both tables as CSV.",
        ),
    ),
    "sets-merge": Help(
        "Where several sets become a new one; they stay as they are.",
        operators=("Choose the sets and what becomes of experiments that several have.",),
    ),
    "upload": Help(
        "Where measurements, mappings, latencies and archives of runs come in from files, those of other "
        "tools among them. Formats are recognised by what is in them.",
        operators=("Drop files here. You see a preview before anything is stored.",),
    ),
    "upload-preview": Help(
        "What was found in the file: format, columns, units, and every row that cannot be read, with "
        "the reason.",
        operators=("Correct what is asked for, then import or discard the file.",),
    ),
    "upload-run": Help(
        "A file with a [[run]] and all that belongs to it.",
        operators=("See what would be made and what is here already, then import it.",),
    ),
    "upload-core-model": Help(
        "A file with a core model: what it has.",
        operators=("Give it a name and import it, or discard the file.",),
    ),
    "machines": Help(
        "[[machine|Machine]]s: computers with an [[agent]], simulated processors, published "
        "measurements, with state and [[noise]].",
        can=("Open one for its noise over time, its experiments and its mappings.",),
        operators=("Add a machine: one line to paste there.",),
    ),
    "machines-arm": Help(
        "How to measure a 64-bit Arm computer: what it needs, and what is known to work.",
        can=("Follow the steps on that computer.",),
    ),
    "machine": Help(
        "One [[machine]]: processor, what it can count, state, [[noise]] and speed over time, and what "
        "was measured on it.",
        can=("See whether its numbers can be trusted.",),
        operators=("Measure, find its ports, check how far the model holds, or make a new token.",),
    ),
    "machine-trust": Help(
        "Whether this machine’s numbers can be relied on: [[noise]], clock, share of [[settled]] "
        "measurements, and disturbed periods.",
        can=(
            "Choose an hour, a day or a week.",
            "Read what would help, with the command for it.",
        ),
    ),
    "machine-add": Help(
        "Where a computer is given a name, before it connects.",
        operators=("Name it; the next page has the line to paste there.",),
    ),
    "machine-arrival": Help(
        "The line that starts the [[agent]] on the new computer, and what has arrived of it.",
        operators=("Paste the line there, and watch the computer arrive.",),
    ),
    "machine-token": Help(
        "A new token of a machine, with the line that starts its [[agent]]. It is shown only now.",
        operators=("Paste the line into a terminal of that computer.",),
    ),
    "machine-edit": Help(
        "Name and note of a machine.",
        operators=("Write what others need to know about it.",),
    ),
    "machine-delete": Help(
        "What would be deleted with this machine, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "know": Help(
        "Finds out how a core works: [[port mapping]] and slots, explained [[µop]]s, latencies and front "
        "end. Each part is a run of its own, and of use as soon as it is done.",
        operators=("Choose the schemes; the estimate follows.",),
    ),
    "machine-measure": Help(
        "The form for measuring on a machine into a set of its own.",
        operators=("Choose schemes and which [[experiment]]s of them; the estimate says how long it takes.",),
    ),
    "check-model": Help(
        "The form for a check of how far measurements on a machine follow what any [[port mapping]] "
        "could say.",
        operators=("Choose schemes and numbers of mixes, then start the run.",),
    ),
}
