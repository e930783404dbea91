"""Help of pages about mappings and the runs that find them."""

from __future__ import annotations

from pmweb.help.text import Help

PAGES = {
    "mappings": Help(
        "All [[port mapping]]s with how well each predicts: [[MAPE]], [[Pearson r]], [[Kendall τ]].",
        can=(
            "Filter, sort, and judge all of them on one set.",
            "Open one for graph, heat map, schemes and doubts.",
        ),
        operators=("Infer a new one, or upload one.",),
    ),
    "mapping": Help(
        "One [[port mapping]] as a graph of schemes, [[µop]]s and [[port]]s, as a [[heat map]], as a "
        "table, beside another one, and by its [[doubt]]s.",
        can=(
            "Pin a node of the graph, click a bin, sort the table: the address keeps what you see.",
            "Try a loop: its cycles and the load of every port, at once.",
            "Export it for PMEvo, OSACA, LLVM, uops.info readers, as JSON or CSV.",
        ),
        operators=("Evaluate it on a set, measure what decides a doubt, or rename it.",),
    ),
    "mapping-convert": Help(
        "Where a port mapping becomes a [[resource mapping]] that predicts the same.",
        operators=("Choose the limit of resources, and convert.",),
    ),
    "mapping-edit": Help(
        "Name and note of a mapping.",
        operators=("Write what others need to know about it.",),
    ),
    "mapping-delete": Help(
        "What would be deleted with this mapping, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "publish": Help(
        "A static site of [[port mapping]]s, core models, comparisons and campaigns: it needs no server.",
        can=("Choose one or several, and download the zip.", "Give it a title and a text of its own."),
    ),
    "scheme-proof": Help(
        "Why a mapping gives a scheme these [[µop]]s: each step with the [[witness]]es that were "
        "measured for it.",
        can=(
            "Look at a witness’s picture: blocked ports are filled, the surplus is on top.",
            "Open a witness as an experiment.",
        ),
        operators=("Measure the witnesses again.",),
    ),
    "latencies": Help(
        "Latencies that were measured: how many cycles after a source operand each destination is ready.",
        can=("Open a set for the table of its schemes.", "Compare two sets."),
        operators=("Measure them on a machine.",),
    ),
    "latencies-measure": Help(
        "Measures the latency of every pair of operands of the chosen schemes, by chains of dependencies.",
        operators=("Choose the schemes; the estimate follows.",),
    ),
    "latencies-compare": Help(
        "Sets of latencies beside each other, of up to six machines, a row per pair of operands. They differ "
        "where any two are more than 0.1 cycles and more than 2 % apart.",
        can=(
            "Choose the sets; search and sort their schemes, or see only those that differ.",
            "Open a number for the chains behind it.",
        ),
    ),
    "latency-set": Help(
        "The latencies of a run, a row per scheme: from which operand to which, in cycles. Two numbers are "
        "minimum and maximum over the instructions that closed the chains, and over quick and slow values of "
        "divisions. Of a known core it says how many agree with what is documented.",
        can=(
            "Search, sort, and open a scheme for the chains behind its numbers.",
            "Compare it with another set, or take it away as XML like uops.info’s.",
        ),
        operators=("Rename it, or delete it.",),
    ),
    "latency-memory": Help(
        "How long loads take by width and address, and how a stored value reaches a load: renamed, forwarded "
        "from the store buffer, or only when the store is done.",
        can=("Open a chain as a basic block.",),
    ),
    "latency-bypasses": Help(
        "Kinds of instructions whose latencies depend on which kind they wait for: how many cycles two of "
        "them in turn take beyond what each takes with itself.",
        can=("Open the chains behind it on the pages of the schemes.",),
    ),
    "latency-scheme": Help(
        "The latencies of one scheme with every chain that was measured for them: code, cycles and spread. "
        "Divisions and shifts by cl have those of quick and of slow values, instructions with an immediate "
        "those of several where they differ.",
    ),
    "core-models": Help(
        "What is known of each core, as one model: ports, slots, latencies, front end and scheduler.",
        can=("Open one for its parts, and what it lacks.",),
        operators=("Make one of parts that were measured one by one, or upload one.",),
    ),
    "core-model": Help(
        "A core model: what each of its ports runs, what each of its parts was taken from, how its scheduler "
        "gives µops to ports where that was found, and the bounds of a block that follow.",
        can=("Ask it why a block takes as long as it does.", "Take it or its diagram away as a file."),
        operators=("Say what the vendor calls the ports.", "Rename it, or delete it."),
    ),
    "core-model-new": Help(
        "Make a core model of a port mapping, latencies and a front end.",
        operators=("Choose the parts; leave out what is not known.",),
    ),
    "core-model-ports": Help(
        "What the vendor calls the ports of a core model; the diagram shows both names.",
        operators=("Give ports their names. Those of an earlier model of the machine are proposed.",),
    ),
    "core-model-edit": Help("Name and note of a core model.", operators=("Save both.",)),
    "core-model-delete": Help("What depends on this core model.", operators=("Delete it; its parts stay.",)),
    "front-ends": Help(
        "Front ends that were measured: what a core fetches, decodes and hands over per cycle.",
        can=("Open one for the code behind each number.",),
        operators=("Measure one from a machine’s page.",),
    ),
    "front-end": Help(
        "A core’s front end in numbers, each with the code that shows it: slots per cycle in loops, bytes "
        "and instructions per cycle in straight code, branches, what long numbers in instructions cost, "
        "and which comparisons and branches become one operation.",
        can=("Open a number for its code, and compare loops of any length in the pictures.",),
        operators=("Rename it, or delete it.",),
    ),
    "front-end-edit": Help("Name and note of a measured front end.", operators=("Save both.",)),
    "front-end-delete": Help(
        "What depends on this front end.", operators=("Delete it, if nothing unfinished needs it.",)
    ),
    "latency-set-edit": Help("Name and note of a set of latencies.", operators=("Save both.",)),
    "latency-set-delete": Help(
        "What depends on this set of latencies.", operators=("Delete it, if nothing unfinished needs it.",)
    ),
    "resource-mappings": Help(
        "All [[resource mapping]]s, Palmed’s model: a second kind of predictor beside port mappings.",
        can=("Open one for its loads and its accuracy.",),
        operators=("Upload one, or convert a port mapping.",),
    ),
    "resource-mapping": Help(
        "One [[resource mapping]]: the cycles that each scheme takes up of every resource, and how "
        "well it predicts.",
        can=(
            "Search its schemes; see the [[heat map]] of an evaluation.",
            "Export it as JSON.",
        ),
        operators=("Evaluate it on a set.",),
    ),
    "resource-mapping-edit": Help(
        "Name and note of a resource mapping.",
        operators=("Write what others need to know about it.",),
    ),
    "resource-mapping-delete": Help(
        "What would be deleted with this resource mapping, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "infer": Help(
        "The form for an inference: from a machine, from measurements that are here, or from a "
        "simulated processor.",
        operators=(
            "Choose an algorithm; each setting has a default, the paper’s value and a line of help.",
            "Read the estimate of experiments and minutes, then start.",
        ),
    ),
    "runs": Help(
        "Everything that ran, runs, or waits. A [[run]] survives closed tabs and restarts of the site.",
        can=("Filter by state and kind; open one to watch it live.",),
        operators=("Start another one under Infer.",),
    ),
    "run": Help(
        "One [[run]]: phase, progress and pictures while it works, the permanent record afterwards.",
        can=(
            "Let the browser notify you, or a webhook be called, when it ends.",
            "Open what it made; download the run as one file that can be imported elsewhere.",
        ),
        operators=("Pause, resume or cancel it; run it again with changes.",),
    ),
    "run-edit": Help(
        "Name and note of a run.",
        operators=("Write what others need to know about it.",),
    ),
    "run-delete": Help(
        "What would be deleted with this run, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "api": Help(
        "Every operation of the HTTP API, with a request to copy and an answer.",
        can=(
            "Search the operations; an opened one has an address of its own.",
            "Make a token on the page of your account.",
        ),
    ),
}
