// The editor of code: CodeMirror in a shadow root, whose style sheets the Content-Security-Policy allows, in place of
// a text area that stays the form's field.

import {
  Decoration, EditorState, EditorView, HighlightStyle, StateEffect, StateField, StreamLanguage, defaultKeymap, drawSelection,
  highlightActiveLine, highlightSpecialChars, history, historyKeymap, indentWithTab, keymap, lineNumbers, lintGutter,
  placeholder, setDiagnostics, syntaxHighlighting, tags,
} from "../vendor/codemirror/codemirror.js";
import { startState, token } from "./loop-assembly.js";

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--ink)", fontWeight: "600" },
  { tag: tags.variableName, color: "var(--code-register)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: tags.typeName, color: "var(--muted)" },
  { tag: tags.labelName, color: "var(--code-label)" },
  { tag: [tags.comment, tags.meta], color: "var(--muted)" },
  { tag: tags.string, color: "var(--code-number)" },
]);

const THEME = EditorView.theme({
  "&": { minHeight: "var(--code-least)", maxHeight: "var(--code-most)", color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "0.875rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.5", overflow: "auto", minHeight: "inherit" },
  ".cm-content": { caretColor: "var(--ink)", paddingBlock: "8px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "0" },
  ".cm-activeLine": { backgroundColor: "var(--code-active)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--code-selection)" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--rule-strong)" },
  ".cm-marked-line": { backgroundColor: "var(--accent-soft)", boxShadow: "inset 3px 0 var(--accent)" },
});

const markLines = StateEffect.define();
const MARK = Decoration.line({ class: "cm-marked-line" });
const MARKED_LINES = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    const effect = change.effects.find((candidate) => candidate.is(markLines));
    return effect ? Decoration.set(effect.value.map((from) => MARK.range(from))) : marks.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** A problem `{line, column, message, severity}` of the server as a diagnostic; null where its line is not there. */
function diagnostic(doc, { line, column, message, severity }) {
  if (line < 1 || line > doc.lines) return null;
  const { from, to, text } = doc.line(line);
  const start = from + (column ? Math.min(column - 1, text.length) : text.length - text.trimStart().length);
  return { from: start, to: Math.max(start, to), severity, message };
}

/** Typing over a selection: Chromium would keep the look of the first letter by a style attribute, which the policy forbids. */
function typeOver(event, view) {
  if (event.inputType !== "insertText" || event.isComposing || !event.data || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

export class CodeEditor {
  /** In place of `field`, a text area in a label's reach. `onChange` is called after each change by a person. */
  constructor(field, onChange) {
    this.field = field;
    const host = document.createElement("div");
    host.className = "code-editor";
    host.dataset.editor = "";
    field.after(host);
    field.hidden = true;
    const root = host.attachShadow({ mode: "open" });
    const [label] = field.labels;
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: field.value,
        extensions: [
          lineNumbers(), lintGutter(), history(), drawSelection(), highlightSpecialChars(), highlightActiveLine(), MARKED_LINES,
          StreamLanguage.define({ name: "assembly", startState, token }),
          syntaxHighlighting(COLOURS), THEME, placeholder("Paste a loop, a function, or a listing"),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.domEventHandlers({ beforeinput: typeOver }),
          EditorView.contentAttributes.of({ "aria-label": label.textContent, tabindex: "0", spellcheck: "false", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged) return;
            field.value = update.state.doc.toString();
            onChange();
          }),
        ],
      }),
    });
    label.addEventListener("click", () => this.view.focus());
  }

  get text() {
    return this.field.value;
  }

  set text(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  showProblems(problems) {
    const { doc } = this.view.state;
    const diagnostics = problems.map((problem) => diagnostic(doc, problem)).filter(Boolean);
    diagnostics.sort((first, second) => first.from - second.from);
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Mark these lines, counted from 1, in place of others. */
  mark(lines) {
    const { doc } = this.view.state;
    const starts = lines.filter((line) => line >= 1 && line <= doc.lines).map((line) => doc.line(line).from);
    this.view.dispatch({ effects: markLines.of(starts.sort((first, second) => first - second)) });
  }
}
