"""Help of the house's own pages: start, search, accounts, About."""

from __future__ import annotations

from pmweb.help.text import Help

PAGES = {
    "start": Help(
        "What is going on: connected machines, [[run|run]]s, the newest [[port mapping]]s "
        "with how well they predict, the newest discoveries.",
        can=(
            "Follow a link: every number leads to what it came from.",
            "New here? The [walk through the example](tour) shows the way in five stops, the "
            "[glossary](glossary) explains the words.",
        ),
        operators=("Take the next of the first steps, or press Infer for a port mapping.",),
    ),
    "search": Help(
        "What the site has for your words, by kind, the best first. Names and notes must have all of "
        "the words; schemes are searched as in their table.",
        can=(
            "Press / or Ctrl+K on any page to search from there.",
            "Paste the body of a loop: it leads to the page of [[basic block]]s with that block.",
        ),
    ),
    "glossary": Help(
        "The words of the field and of this site, each with what it means here.",
        can=(
            "Link to a term: its name is in the address.",
            "See them at work in the [walk through the example](tour).",
        ),
    ),
    "tour": Help(
        "A walk through the recorded example in five stops: measurements, the mapping inferred from "
        "them, how well it predicts, a loop, an experiment.",
        can=("Follow the stops in order; each says what to look at and what to try.",),
        operators=("Load the example first, if it is not here yet.",),
    ),
    "about": Help(
        "Which version this is, what this computer has, and which optional programs were found on it.",
        can=(
            "Copy the line that installs what is missing.",
            "Cite the site: exports carry its version and the citation.",
        ),
    ),
    "password": Help(
        "Where you set a password of your own.",
        can=(
            "Set one, and log in with it instead of a link. All other sessions end.",
            "Let links that wait and your API tokens end as well, if somebody may have got hold of them.",
        ),
    ),
    "account": Help(
        "How you log in, and the API tokens of your programs.",
        can=(
            "Set a password.",
            "See [where you are logged in](sessions), and end what you do not know.",
            "Make a token for the [API](api), limited to what its program needs, and revoke it.",
        ),
    ),
    "api-token-make": Help(
        "A new token for a program of yours. It is shown once.",
        can=("Copy it now, and give it to the program in an Authorization header.",),
    ),
    "confirm": Help(
        "Where you confirm who you are, because you logged in a while ago.",
        can=("Type your password, or open a fresh log-in link in this browser.",),
    ),
    "shares": Help(
        "Links that show one thing to whoever has them, without an account.",
        operators=("Make one for some days, see how often it was opened, and revoke it.",),
    ),
    "sessions": Help(
        "The browsers in which you are logged in: since when, from where, and when each was last seen.",
        can=("End one that you do not know, or all but this one.",),
    ),
    "accounts": Help(
        "Everybody with an account, and what each may do: look, operate, administer.",
        can=(
            "Invite a user; a link lets them in once.",
            "Open an account to change its role or to deactivate it.",
        ),
    ),
    "account-invite": Help(
        "The form for a new account.",
        can=("Choose a name and a role; send them the link privately.",),
    ),
    "account-link": Help(
        "A link that logs somebody in once. It is shown only once.",
        can=("Copy it, and send it to them.",),
    ),
    "account-of": Help(
        "An account: its role, when it was last used, its sessions and its tokens.",
        can=("Change the role, make a new link, log it out everywhere, or deactivate it.",),
    ),
    "audit": Help(
        "Who started, deleted, exported and changed what, and when.",
        can=(
            "Filter by person, action and time; the address keeps the filter.",
            "Download it as CSV.",
        ),
    ),
    "storage": Help(
        "How much space old records take: checkpoints, journals, samples, sessions, and for how long "
        "each is kept.",
        can=("Preview what would be removed; results and what they depend on stay.",),
    ),
}
