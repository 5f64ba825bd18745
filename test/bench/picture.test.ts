import { expect } from 'chai';
import { draw, type Picture } from './picture.ts';

const ENDS = [
  [10, 1],
  [1000, 100],
];
const PICTURE: Picture = {
  title: 'a < b',
  x: 'requests/s',
  y: 'ms',
  curves: [
    {
      name: 'one',
      points: ENDS,
    },
  ],
};

describe('a picture of the bench', () => {
  it('places points by the logarithm of their values, between the ticks at their ends', () => {
    const [, points] = /points="([^"]*)"/.exec(draw([PICTURE])) ?? [];
    expect(points).to.equal('60,290 560,40');
    expect(draw([{ ...PICTURE, curves: [{ name: 'one', points: [[100, 10], ...ENDS] }] }])).to.include(
      'points="310,165 60,290 560,40"',
    );
  });

  it('says what it shows, as text and never as markup', () => {
    const svg = draw([PICTURE, PICTURE]);
    for (const text of ['a &lt; b', 'requests/s', 'ms', 'one', '1,000']) expect(svg).to.include(`>${text}</text>`);
    expect(svg).not.to.match(/<style|<script|href/);
  });

  it('gives what has one name one colour in all pictures', () => {
    const other = { ...PICTURE, curves: [{ name: 'other', points: ENDS }, ...PICTURE.curves] };
    const colours = [...draw([PICTURE, other]).matchAll(/stroke="(#\w+)" stroke-width/g)].map(([, colour]) => colour);
    expect(colours[2]).to.equal(colours[0]).and.not.to.equal(colours[1]);
  });

  it('has axes even where nothing was measured', () => {
    expect(draw([{ ...PICTURE, curves: [] }]))
      .to.include('<line')
      .and.not.match(/NaN|Infinity/);
  });
});
