// Syntax of assembly for the editor: Intel, AT&T, AArch64, what compilers and disassemblers print. Pure functions.

const REGISTER = /%?(?:r(?:[abcd]x|[sd]i|[sb]p|ip|\d{1,2}[bwd]?)|e?(?:[abcd]x|[sd]i|[sb]p)|eip|[abcd][lh]|[sd]il|[sb]pl|[xyzt]mm\d{1,2}|k[0-7]|mm[0-7]|st(?:\(\d\))?|[cdefgs]s|[cd]r\d{1,2}|[xwbhsdqv](?:[12]?\d|3[01])(?:\.\d{0,2}[bhsdq])?|[xw]zr|wsp)(?![\w$])/i;
const SIZE = /(?:byte|[dqotyz]?word|[xyz]mmword|tbyte|fword|ptr|offset|rel|short|near|far)\b/i;
const NUMBER = /[$#]?[-+]?(?:0x[\da-f]+|\d[\da-f]*h|\d+[bf](?=\s|$|[;#])|\d+(?:\.\d+)?(?:e[-+]?\d+)?)\b/i;
const PREFIX = /(?:lock|repn?[ez]?|data16|notrack|bnd|\{\w+\})(?=\s)/i;
const LISTED = /\s*[\da-f]+:[ \t]+(?:[\da-f]{8}[ \t]+|(?:[\da-f]{2}(?= |\t|$)[ \t]?)+)/i; // objdump: the address and the bytes or the word
const LABEL = /\s*(?:"[^"]*"|[\w.$?@]+):(?=\s|$|\/)/;
const WORD = /[\w.$@?]+/;
const STATEMENT = new RegExp(String.raw`;(?=\s*(?:(?:cdqe?|cqo|cwd|nop|ret|leave|pause|vzeroupper)\s*$|[a-z][\w.]*\s+(?:[%$\[(*-]|\d|${REGISTER.source}|${SIZE.source})))`, "i"); // not a remark

/** What a line of a text begins with: nothing has been read of its statement yet. */
export const startState = () => ({ inComment: false, hasMnemonic: false });

function endComment(stream, state) {
  if (stream.skipTo("*/")) {
    stream.match("*/");
    state.inComment = false;
  } else {
    stream.skipToEnd();
  }
  return "comment";
}

/** The name of the next token of a line for CodeMirror's `StreamLanguage`, null for one without a colour. */
export function token(stream, state) {
  if (stream.sol()) state.hasMnemonic = false;
  if (state.inComment) return endComment(stream, state);
  if (stream.sol()) {
    if (stream.match(LISTED)) return "meta";
    if (stream.match(LABEL)) return "labelName";
  }
  if (stream.eatSpace()) return null;
  if (stream.match("/*")) {
    state.inComment = true;
    return endComment(stream, state);
  }
  if (stream.match(STATEMENT)) {
    state.hasMnemonic = false;
    return null;
  }
  if (stream.match(/#(?![-+]?\d|:)|\/\/|;/)) {
    stream.skipToEnd();
    return "comment";
  }
  if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
  if (stream.match(/</)) { // objdump: the symbol of a jump's target
    stream.match(/[^>]*>?/);
    return "labelName";
  }
  if (!state.hasMnemonic) {
    if (stream.match(LABEL)) return "labelName";
    if (stream.match(PREFIX)) return "keyword";
    if (stream.match(WORD)) {
      state.hasMnemonic = true;
      return stream.current().startsWith(".") ? "meta" : "keyword";
    }
  }
  if (stream.match(REGISTER)) return "variableName";
  if (stream.match(SIZE)) return "typeName";
  if (stream.match(NUMBER)) return "number";
  if (stream.match(WORD)) return "labelName";
  stream.next();
  return null;
}
