"""The category of an instruction: a rule table over its mnemonic, CPU features and control flow.

The names are this project's own. Vector forms share the category of their scalar relatives, so that
`category:shift` finds `shl` and `vpsllw` alike; the CPU feature tells them apart.
"""

from __future__ import annotations

import re

from iced_x86 import EncodingKind, FlowControl

from inference.isa.x86.iced_types import EncodingValue, FlowValue

_BY_FLOW = {
    FlowControl.UNCONDITIONAL_BRANCH: "jump",
    FlowControl.INDIRECT_BRANCH: "jump",
    FlowControl.CONDITIONAL_BRANCH: "branch",
    FlowControl.CALL: "call",
    FlowControl.INDIRECT_CALL: "call",
    FlowControl.RETURN: "return",
    FlowControl.INTERRUPT: "interrupt",
    FlowControl.XBEGIN_XABORT_XEND: "transaction",
    FlowControl.EXCEPTION: "interrupt",
}

# The first rule whose pattern matches the whole mnemonic decides; a leading `v` of VEX, EVEX and XOP is gone.
_RULES = [
    (name, re.compile(pattern))  # bounded: mnemonics
    for name, pattern in (
        ("address", r"lea"),
        ("stack", r"push\w*|pop(f\w?)?|enter|leave"),
        ("string-compare", r"pcmp[ei]str[im](64)?"),
        ("nop", r"nop|endbr\d+|pause"),
        ("prefetch", r"prefetch\w*|(gather|scatter)pf\w+"),
        ("fence", r"[lms]fence|serialize"),
        ("cache", r"cl(flush(opt)?|wb|demote|zero|1invmb)"),
        ("transaction", r"xend|xtest|xabort|x(sus|res)ldtrk"),
        ("conditional-move", r"cmov\w+|fcmov\w+"),
        ("conditional-set", r"set(n?[abceglopsz]e?|[abgl]e|n[abgl]e|np|pe|po)"),
        ("exchange", r"xchg|xadd|cmpxchg\w*|cmp\w+xadd|aadd|aand|aor|axor"),
        ("byte-swap", r"bswap|movbe"),
        ("crypto", r"aes\w+|sha\d\w+|pclmulqdq|gf2p8\w+|sm[34]\w+|encodekey\w+|loadiwkey"),
        ("checksum", r"crc32"),
        ("random", r"rdrand|rdseed"),
        ("fused-multiply-add", r"fc?n?m(add|sub|addsub|subadd)\w+|4fn?madd\w+|fc?mul\w+"),
        ("dot-product", r"pdp\w+|p4dpwssds?|dpbf16ps|dpp[sd]|tdp\w+|tcmm\w+|dpbf\w+|bf16ps"),
        ("multiply", r"i?mul|mulx|mul[ps][sdh]|pmul(?!tishift)\w+|pfmul|pmadd\w+|pmacs\w+|pmadcs\w+"),
        ("divide", r"i?div|div[ps][sdh]"),
        ("square-root", r"sqrt[ps][sdh]"),
        ("reciprocal", r"r?(rcp|sqrt)(14|28)?[ps][sdh]|exp2p[sd]|pfr\w+"),
        ("convert", r"cvt\w+|ne\w*cvt\w+|bcst\w+|pf2i[dw]|pi2f[dw]|cvtne\w+"),
        ("extend", r"mov[sz]x|movsxd|pmov[sz]x\w+|cbw|cwde|cdqe|cwd|cdq|cqo"),
        ("narrow", r"pack[su]\w+|pmov(us|s)?[wdq][bwd]"),
        ("bit", r"bt[csr]?|bs[fr]|[lt]zcnt|p?popcnt[bwdq]?|bls\w+|blc\w+|bextr|bzhi|p(dep|ext)|t1mskc|tzmsk"),
        ("bit", r"plzcnt[dq]|pconflict[dq]|pmultishiftqb|pshufbitqmb|p2intersect[dq]"),
        ("rotate", r"(ro|rc)[lr]|rorx|pro[lr]v?[dq]|prot[bwdq]"),
        ("shift", r"sh[lr]d?|sa[lr]|s[ah][lr]x|ps(ll|rl|ra)v?[wdq]|ps[lr]ldq|psh[lr]dv?[wdq]|psh[al][bwdq]"),
        ("shift", r"kshift[lr][bwdq]"),
        ("logical", r"and|x?or|not|andn|p?(andn?|x?or)(p[sd]|[dq])?|pternlog[dq]|pcmov"),
        ("logical", r"k(andn?|x?n?or|not)[bwdq]"),
        (
            "compare",
            r"cmp|test|cmp[ps][sdh]|u?comis[sdh]|pcmp\w+|ptest\w*|testp[sd]|pcom(?!press)\w+|pfcmp\w+",
        ),
        ("compare", r"k(or)?test[bwdq]|fpclass\w+"),
        ("blend", r"p?blend\w+"),
        ("broadcast", r"p?broadcast\w+"),
        ("gather", r"p?gather\w+"),
        ("scatter", r"p?scatter\w+"),
        (
            "shuffle",
            r"p?(shuf|unpck|perm|align)\w*|movs[lh]dup|movddup|mov(lh|hl)ps|kunpck\w+|punpck\w+|pswapd",
        ),
        ("shuffle", r"p?(insert|extract)\w+|p(insr|extr)[bwdq]|insertq|extrq|p?(expand|compress)\w+"),
        ("move-mask", r"p?movmsk\w+|pmov[bwdq]2m|pmovm2[bwdq]"),
        ("minimum-maximum", r"p?(min|max)\w+|pf(min|max)|range\w+"),
        ("horizontal", r"ph?(add|sub)\w*w[dq]|h(add|sub)p[sd]|ph(add|sub|min)\w+|m?p?sadbw|dbpsadbw"),
        ("round", r"round[ps][sd]|rndscale\w+|frcz[ps][sd]|reduce\w+|scalef\w+|get(exp|mant)\w+|fixupimm\w+"),
        ("arithmetic", r"ad[dc]|adcx|adox|su?b?b|inc|dec|neg|xadd|addsubp[sd]|(add|sub)[ps][sdh]"),
        ("arithmetic", r"p(add|sub)\w+|pavg\w+|pabs\w+|psign\w+|kadd[bwdq]|pf(add|subr?|acc|nacc|pnacc)"),
        ("flags", r"cm?[lc]c|stc|cld|std|lahf|sahf|cmc|clc"),
        ("state", r"f?xsave\w*|f?xrstor\w*|(ld|st)mxcsr|zero(all|upper)|f?emms|(ld|st)tilecfg|tilerelease"),
        ("move", r"mov\w*|lddqu|p?maskmov\w+|kmov[bwdq]|tile\w+|xlatb|p?mov\w+|ldmxcsr"),
    )
]


def category(
    mnemonic: str,
    encoding: EncodingValue,
    features: tuple[str, ...],
    flow: FlowValue,
    *,
    string: bool,
) -> str:
    """The category of an instruction; `system` where no rule speaks.

    `encoding` and `flow` are iced's `EncodingKind` and `FlowControl`; `string` says that an operand is memory
    at rsi or rdi, which tells `movsd` the string instruction from `movsd` the vector one.
    """
    if flow in _BY_FLOW:
        return _BY_FLOW[flow]
    if any(feature.startswith("FPU") for feature in features):
        return "x87"
    if string and "maskmov" not in mnemonic:
        return "string"
    vector = encoding in {EncodingKind.VEX, EncodingKind.EVEX, EncodingKind.XOP}
    bare = mnemonic.removeprefix("v") if vector else mnemonic
    for name, pattern in _RULES:
        if pattern.fullmatch(bare):
            return name
    return "system"
