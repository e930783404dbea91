// What the type checker cannot know: elements that a selector finds are what the template has put there.

interface ParentNode {
  querySelector(selectors: string): any;
  querySelectorAll(selectors: string): NodeListOf<any>;
}

interface Element {
  closest(selectors: string): any;
}

interface Document {
  getElementById(elementId: string): any;
}

interface Window {
  Plotly: any;
}
