import { expect } from 'chai';
import { fieldsOf, membersOf, typesOf } from './declarations.ts';

const SOURCE = `
export type Item = Message | Item.Call | {
  type: 'inline';
  part: { type: 'part' };
};
/** interface Message { type: 'comment' } */
export interface Message {
    type?: 'message' | 'note';
    content: Array<{ type: 'text' }>;
}
export declare namespace Item {
    interface Message {
        type: 'another';
    }
    interface Call extends Base {
        id: string;
    }
}
interface Base {
    type: "call";
}
const names = new Set([
  'one',
  'two.three',
]);
`;

describe('declarations', () => {
  it('tell the types of the objects of a union, and not of their parts', () => {
    expect(typesOf(SOURCE, 'Item')).to.deep.equal(['message', 'note', 'call', 'inline']);
  });

  it('tell the fields of an interface', () => {
    expect(fieldsOf(SOURCE, 'Message')).to.deep.equal(['type', 'content']);
  });

  it('tell the members of a set', () => {
    expect(membersOf(SOURCE, 'names')).to.deep.equal(['one', 'two.three']);
  });

  for (const read of [typesOf, fieldsOf, membersOf]) {
    it(`are never silently empty: ${read.name}`, () => {
      expect(() => read(SOURCE, 'Gone')).to.throw('Gone');
    });
  }
});
