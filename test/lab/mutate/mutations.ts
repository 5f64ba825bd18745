/** The faults that can be planted in a file: each replaces one piece of its text. */

import { SyntaxKind, type Node, type SourceFile } from 'typescript/unstable/ast';

export interface Mutation {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly wrong: string;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '-': '+',
  '*': '+',
};

/** Words for the state of a request, a response or an item, each with an other one of its kind. */
const STATUSES: Readonly<Record<string, string>> = {
  completed: 'incomplete',
  incomplete: 'completed',
  succeeded: 'failed',
  failed: 'cancelled',
  cancelled: 'failed',
  in_progress: 'completed',
  running: 'queued',
  queued: 'running',
  stop: 'length',
  length: 'stop',
  tool_calls: 'stop',
};

const CONDITIONS = new Set([SyntaxKind.IfStatement, SyntaxKind.ConditionalExpression, SyntaxKind.WhileStatement]);

export function mutationsOf(source: SourceFile): Mutation[] {
  const found: Mutation[] = [];

  const add = (node: Node, kind: string, wrong: string): void => {
    found.push({ kind, start: node.getStart(source), end: node.end, wrong });
  };

  const visit = (node: Node): void => {
    const children: Node[] = [];
    node.forEachChild((child) => void children.push(child));
    const text = node.getText(source);
    const [first, second] = children;
    if (CONDITIONS.has(node.kind) && first !== undefined) {
      add(first, 'negated condition', `!(${first.getText(source)})`);
    } else if (node.kind === SyntaxKind.BinaryExpression && second !== undefined) {
      const wrong = OPERATORS[second.getText(source)];
      if (wrong !== undefined) add(second, 'other operator', wrong);
    } else if (node.kind === SyntaxKind.NumericLiteral) {
      add(node, 'constant off by one', `(${text} + 1)`);
    } else if (node.kind === SyntaxKind.TrueKeyword || node.kind === SyntaxKind.FalseKeyword) {
      add(node, 'true for false', text === 'true' ? 'false' : 'true');
    } else if (node.kind === SyntaxKind.StringLiteral) {
      const wrong = STATUSES[text.slice(1, -1)];
      if (wrong !== undefined) add(node, 'other status', `'${wrong}'`);
    } else if (node.kind === SyntaxKind.ExpressionStatement) {
      add(node, 'statement removed', ';');
    } else if (node.kind === SyntaxKind.ReturnStatement && isEarly(node)) {
      add(node, 'early return removed', ';');
    }
    // A type is nothing that runs.
    for (const child of children) if (child.kind !== SyntaxKind.LiteralType) visit(child);
  };

  visit(source);
  return found;
}

function isEarly({ parent }: Node): boolean {
  return (parent.kind === SyntaxKind.Block ? parent.parent : parent).kind === SyntaxKind.IfStatement;
}
