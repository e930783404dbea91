"""Help of pages about predictors and where they disagree."""

from __future__ import annotations

from pmweb.help.text import Help

PAGES = {
    "blocks": Help(
        "Where [[basic block]]s are pasted: decoded at once, with what the ports of the mappings here allow.",
        can=("Paste assembly in Intel or AT&T syntax, or hexadecimal digits; the address keeps the block.",),
        operators=(
            "Ask predictors and machines, all in one [[mode]]; answers come one by one on a page that stays.",
        ),
    ),
    "asked-blocks": Help(
        "What every [[predictor]] and machine that was asked says of these blocks.",
        can=(
            "See the load of the ports by instruction, for a mapping of your choice.",
            "Download the answers as CSV.",
        ),
        operators=(
            "Let a difference be explained: a [[generalisation]] of this very block.",
            "Ask what memory dependencies change.",
        ),
    ),
    "block-sets": Help(
        "Sets of [[basic block]]s with what each tool says that they take.",
        can=("Open one for its blocks and columns.",),
        operators=("Upload a set, BHive’s files included.",),
    ),
    "block-set": Help(
        "One set of blocks: every tool’s answers, how accurate they are, and how much of the "
        "disagreement campaigns explain.",
        can=(
            "Filter by mnemonic and length, sort by a column, open a block.",
            "Download the set as CSV.",
        ),
        operators=("Ask another predictor for all blocks, or have its accuracy or [[coverage]] computed.",),
    ),
    "block-set-upload": Help(
        "Where blocks come in: a table with a column per tool, or a program whose loops are found.",
        operators=("Drop a file or paste a listing; you see a preview before anything is stored.",),
    ),
    "anica-import": Help(
        "What is in a file of blocks or an archive of campaigns, before it is imported.",
        operators=("Look it through, then import it.",),
    ),
    "anica-loops": Help(
        "The loops of an uploaded program, with what samples of a profiler say of each.",
        operators=("Have them found, choose some, and make a set of these [[basic block]]s.",),
    ),
    "block-set-ask": Help(
        "The form that asks predictors for all blocks of a set.",
        operators=("Choose predictors; the answers of each become a column.",),
    ),
    "accuracy-checks": Help(
        "Checks of how good everything that predicts [[basic block]]s is on a machine.",
        can=("Open one for its scores.",),
        operators=("Start another one.",),
    ),
    "accuracy-check": Help(
        "Blocks measured on a machine, and core model, mappings and tools beside that: [[MAPE]], "
        "[[Kendall τ]], [[heat map]]s. The same blocks measured once more show what can be expected; "
        "by that and by the best published tool each is judged.",
        can=(
            "Choose a predictor for what its large errors have in common, and its worst blocks.",
            "See by component where the core model is wrong.",
            "Download the scores as CSV; open the set with all answers.",
        ),
    ),
    "accuracy-check-new": Help(
        "The form for an accuracy check.",
        operators=(
            "Choose a machine and a set; without a choice, all predictors that suit it are asked.",
            "Choose the [[mode]] that is measured; everybody is asked in it.",
        ),
    ),
    "block-set-gate": Help(
        "What has become of the accuracy that a file keeps: columns that are worse by now, and why.",
        operators=("Choose a baseline that the accuracy page or the shell has made.",),
    ),
    "block-set-cover": Help(
        "What has to be put right before [[coverage]] is computed.",
        operators=("Change what is marked.",),
    ),
    "block-set-edit": Help(
        "Name and note of a set of blocks.",
        operators=("Write what others need to know about it.",),
    ),
    "block-set-delete": Help(
        "What would be deleted with this set of blocks, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "campaigns": Help(
        "All [[campaign]]s: searches for blocks on which predictors disagree.",
        can=("Filter by kind and tool; tick several to compare them.",),
        operators=("Start a new one.",),
    ),
    "campaign": Help(
        "One [[campaign]]: its counters while it searches, and its [[discovery|discoveries]].",
        can=(
            "Sort discoveries by [[interestingness]], generality or [[coverage]]; open one for its tree.",
            "Open a family: what disagreements with one cause have in common, with a report.",
            "Download it as one file, or the discoveries as CSV.",
        ),
        operators=("Pause or cancel it, compute its coverage, or start one like it.",),
    ),
    "campaign-new": Help(
        "The form for a campaign.",
        operators=("Choose the predictors and what counts as disagreement; usual settings come as presets.",),
    ),
    "campaign-compare": Help(
        "Campaigns beside each other: settings that differ, numbers, and how much of one’s discoveries "
        "another has.",
        can=("Follow a number to the discoveries behind it.",),
        operators=("Have the overlap computed.",),
    ),
    "campaign-round": Help(
        "The blocks of one round of a campaign with every predictor’s answer.",
        can=("Sort them, and open a block.",),
    ),
    "campaign-edit": Help(
        "Name and note of a campaign.",
        operators=("Write what others need to know about it.",),
    ),
    "campaign-delete": Help(
        "What would be deleted with this campaign, and what stands in the way.",
        operators=("Read the list before you press the button.",),
    ),
    "matrices": Help(
        "Tables of how often two tools disagree on the same blocks.",
        can=("Open one; each cell leads to its blocks.",),
        operators=("Have another one computed.",),
    ),
    "matrix": Help(
        "How often two tools disagree: the darker a cell, the larger the share of "
        "[[interestingness|interesting]] blocks.",
        can=(
            "Open a cell for its blocks.",
            "Download it as CSV.",
        ),
    ),
    "matrix-new": Help(
        "The form for a matrix of tools.",
        operators=("Choose the tools and where the blocks come from.",),
    ),
    "matrix-cell": Help(
        "The blocks on which two tools disagree, the largest difference first.",
        can=("Open a block.",),
        operators=("Start a [[campaign]] of the two.",),
    ),
    "comparisons": Help(
        "Comparisons of [[predictor]]s on the same experiments.",
        can=("Open one for its scores.",),
        operators=("Start another one.",),
    ),
    "comparison": Help(
        "Predictors on the same experiments: [[MAPE]], [[Pearson r]], [[Kendall τ]], how many each "
        "could answer, and a [[heat map]] of each.",
        can=(
            "See by scheme which of them is too slow or too fast.",
            "Click a bin for its experiments; download scores and answers as CSV.",
        ),
    ),
    "comparison-of": Help(
        "The form for a comparison that starts from a source: on which items, and against what.",
        operators=("Choose sources and items; without *Against*, what was measured judges.",),
    ),
    "comparison-new": Help(
        "The form for a comparison of predictors.",
        operators=("Choose a set and predictors; the set’s measurements judge.",),
    ),
    "discovery": Help(
        "One [[discovery]]: its [[abstract block]] in words, and the tree by which it was generalised.",
        can=(
            "Click a step for its sampled blocks and every predictor’s answer; walk the tree with the "
            "arrow keys.",
            "Download tree, blocks, report or session.",
        ),
        operators=(
            "Mark it, write a note, ask its predictors once more for the blocks of a step, or others.",
        ),
    ),
    "discovery-ask": Help(
        "The form that asks predictors for the blocks of a step.",
        operators=("Choose predictors; their answers appear beside the others.",),
    ),
    "family": Help(
        "A family: [[discovery|discoveries]] with one cause, the evidence for it, and a report.",
        can=(
            "See which change of the block makes the difference vanish, and what a machine has measured.",
            "Copy the report, or take it, the test for llvm-mca or the snippet for llvm-exegesis as a file.",
        ),
        operators=("Mark it, write a note, have a machine measure its block.",),
    ),
    "discovery-schemes": Help(
        "The instruction [[scheme]]s that each instruction of an [[abstract block]] stands for.",
    ),
    "discovery-reproduce": Help(
        "How to see the disagreement elsewhere: the smallest block with the command line of every tool.",
        can=("Copy a line, or take the report for a bug tracker.",),
    ),
    "mapping-llvm": Help(
        "Every scheme of a mapping beside what LLVM’s scheduling model says of it, by llvm-mca.",
        can=("Filter what differs; download the report as Markdown.",),
        operators=("Ask llvm-mca again for another processor.",),
    ),
    "predictors": Help(
        "Anything that predicts how long a block takes: tools found here, mappings, machines.",
        can=(
            "See why one is missing and how to install it.",
            "Try one on a block.",
        ),
    ),
    "predictor-add": Help(
        "The form for a predictor with other options.",
        can=("Choose a tool and its options; it is available as soon as it is saved.",),
    ),
}
