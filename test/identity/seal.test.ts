import { expect } from 'chai';
import { createIdentities } from '../../src/identity/identities.ts';
import { createSealer, type SealPurpose } from '../../src/identity/seal.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { runs } from '../support/property.ts';

const SECRET = 'the secret of these tests, long enough';
const OLD_SECRET = 'the secret which was there before it';
/** How many damaged seals are tried. `SEAL_RUNS=1000000 mocha --timeout 0` is the long run. */
const RUNS = Number(process.env['SEAL_RUNS'] ?? runs(20_000).numRuns);

const TEXT = 'Let me think… 思考 😀\n\0"{}';

/** A gateway with these secrets, for the caller with this key. */
function gateway(secret: string, previous: string | null = null, apiKey = 'key-a', purpose: SealPurpose = 'reasoning') {
  const sealer = createSealer(purpose, secret, previous);
  const caller = createIdentities(secret, previous).caller(apiKey);
  return {
    seal(text: string): string {
      const sealed = sealer.seal(caller, text);
      if (sealed === undefined) throw new Error('the text was not sealed');
      return sealed;
    },
    tryToSeal: (text: string) => sealer.seal(caller, text),
    open: (sealed: string) => sealer.open(caller, sealed),
  };
}

describe('createSealer', () => {
  const texts = { 'a text': TEXT, 'no text': '', 'a long text': 'ä'.repeat(1_000_000) };
  for (const [name, text] of Object.entries(texts)) {
    it(`opens ${name} for the caller it was sealed for`, () => {
      expect(gateway(SECRET).open(gateway(SECRET).seal(text))).to.equal(text);
    });
  }

  it('shows nothing of the text, and never the same seal twice', () => {
    const seals = Array.from({ length: 100 }, () => gateway(SECRET).seal('plain words'));
    expect(new Set(seals).size).to.equal(100);
    for (const sealed of seals) {
      expect(sealed).to.match(/^rgw1_[\w-]+$/);
      expect(Buffer.from(sealed.slice(5), 'base64url').toString('latin1')).not.to.include('plain');
    }
  });

  const openings = [
    { name: 'for another caller', opener: gateway(SECRET, null, 'key-b'), opens: false },
    { name: 'with another secret', opener: gateway('some other secret, as long as it'), opens: false },
    {
      name: 'with its secret as the previous one',
      opener: gateway('a new secret, as long as it', SECRET),
      opens: true,
    },
    {
      name: 'for another caller with its secret as the previous one',
      opener: gateway('a new secret, as long as it', SECRET, 'key-b'),
      opens: false,
    },
    {
      name: 'with its secret as the one before the previous',
      opener: gateway('newest secret', OLD_SECRET),
      opens: false,
    },
    { name: 'with its secret beside a previous one', opener: gateway(SECRET, OLD_SECRET), opens: true },
  ];
  for (const { name, opener, opens } of openings) {
    it(`${opens ? 'opens' : 'does not open'} ${name}`, () => {
      expect(opener.open(gateway(SECRET).seal(TEXT))).to.equal(opens ? TEXT : undefined);
    });
  }

  it('opens nothing that was sealed for another purpose, whatever its prefix says', () => {
    const [reasoning, compaction] = [gateway(SECRET), gateway(SECRET, null, 'key-a', 'compaction')];
    expect(compaction.open(compaction.seal(TEXT))).to.equal(TEXT);
    expect(compaction.seal(TEXT)).to.match(/^rgwc1_/);
    expect(compaction.open(reasoning.seal(TEXT))).to.equal(undefined);
    expect(compaction.open(reasoning.seal(TEXT).replace('rgw1_', 'rgwc1_'))).to.equal(undefined);
    expect(reasoning.open(compaction.seal(TEXT).replace('rgwc1_', 'rgw1_'))).to.equal(undefined);
  });

  it('opens what was sealed as reasoning before there was any other purpose', () => {
    const before = 'rgw1_Q06nZ_5SbY42-stj6cUNF4qXac7f6kKaHRbRbpbs2myyCPyAVX_qen0H';
    expect(gateway(SECRET).open(before)).to.equal('thought before');
  });

  it('opens the last of several seals that a client has joined', () => {
    const [one, two] = [gateway(SECRET).seal('one'), gateway(SECRET).seal(TEXT)];
    expect(gateway(SECRET).open(one + two)).to.equal(TEXT);
    expect(gateway(SECRET).open(`${one}${two}${gateway(SECRET, null, 'key-b').seal('three')}`)).to.equal(undefined);
    expect(gateway(SECRET).open(`rgw1_damaged${two}`)).to.equal(TEXT);
  });

  it('seals with the present secret while there is a previous one', () => {
    const sealed = gateway(SECRET, OLD_SECRET).seal(TEXT);
    expect(gateway(SECRET).open(sealed)).to.equal(TEXT);
    expect(gateway(OLD_SECRET).open(sealed)).to.equal(undefined);
  });

  it('does not seal what is longer than four megabytes', () => {
    const most = 4 * 1024 * 1024;
    expect(gateway(SECRET).tryToSeal('x'.repeat(most + 1))).to.equal(undefined);
    expect(gateway(SECRET).tryToSeal('ä'.repeat(most / 2 + 1)), 'bytes count, not characters').to.equal(undefined);
    const text = 'x'.repeat(most);
    expect(gateway(SECRET).open(gateway(SECRET).seal(text)) === text, 'the longest text').to.equal(true);
  });

  it('does not look at what is longer than any seal', () => {
    const mine = gateway(SECRET);
    const tooLong = `${mine.seal('x'.repeat(4 * 1024 * 1024))}AAAAAAAA`;
    const startMs = cpuTimeMs();
    for (let count = 0; count < 1000; count += 1) expect(mine.open(tooLong)).to.equal(undefined);
    expect(cpuTimeMs() - startMs, 'milliseconds of CPU').to.be.below(1000);
  });

  const foreign = {
    'an empty text': '',
    'a seal of others': 'gAAAAABodHRwczovL2V4YW1wbGUuY29tLw==',
    'the prefix alone': 'rgw1_',
    'too few bytes for a tag': `rgw1_${Buffer.alloc(27).toString('base64url')}`,
    'nothing but a tag': `rgw1_${Buffer.alloc(28).toString('base64url')}`,
    'a later version': gateway(SECRET).seal(TEXT).replace('rgw1_', 'rgw2_'),
    'the prefix in capitals': gateway(SECRET).seal(TEXT).replace('rgw1_', 'RGW1_'),
    'another alphabet': gateway(SECRET).seal('?'.repeat(300)).replaceAll('-', '+').replaceAll('_', '/'),
    padding: `${gateway(SECRET).seal(TEXT)}=`,
    'a line break': `${gateway(SECRET).seal(TEXT)}\n`,
    'characters outside the alphabet': gateway(SECRET)
      .seal(TEXT)
      .replace(/^rgw1_/, 'rgw1_é'),
  };
  for (const [name, sealed] of Object.entries(foreign)) {
    it(`takes no notice of ${name}`, () => {
      expect(gateway(SECRET).open(sealed)).to.equal(undefined);
    });
  }

  it(`opens none of ${RUNS} damaged and invented seals, and throws at none`, () => {
    const mine = gateway(SECRET, OLD_SECRET);
    const seals = [
      mine.seal(TEXT),
      mine.seal('x'),
      gateway(SECRET, null, 'key-b').seal(TEXT),
      gateway(OLD_SECRET).seal(TEXT),
    ];
    const genuine = new Set(seals);
    const random = createRandom(20_261_121);
    const tried = new Map<string, number>();
    for (let run = 0; run < RUNS; run += 1) {
      const [name, damage] = DAMAGES[run % DAMAGES.length] ?? ['none', String];
      const sealed = seals[random(seals.length)] ?? '';
      const damaged = damage(sealed, random, seals);
      if (genuine.has(damaged)) continue;
      tried.set(name, (tried.get(name) ?? 0) + 1);
      if (mine.open(damaged) !== undefined) throw new Error(`opened after ${name}: ${damaged}`);
    }
    for (const [name] of DAMAGES) {
      expect(tried.get(name), `seals with ${name}`).to.be.greaterThan((RUNS / DAMAGES.length) * 0.9);
    }
  });
});

type Random = (below: number) => number;
type Damage = (sealed: string, random: Random, seals: readonly string[]) => string;

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const DAMAGES: readonly (readonly [string, Damage])[] = [
  ['another character', (sealed, random) => replaceAt(sealed, random(sealed.length), letter(random))],
  ['another last character', (sealed, random) => replaceAt(sealed, sealed.length - 1, letter(random))],
  [
    'a flipped bit',
    (sealed, random) => {
      const bytes = Buffer.from(sealed.slice(5), 'base64url');
      const at = random(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
      return `rgw1_${bytes.toString('base64url')}`;
    },
  ],
  ['an end missing', (sealed, random) => sealed.slice(0, -1 - random(sealed.length - 1))],
  ['a character missing', (sealed, random) => replaceAt(sealed, random(sealed.length), '')],
  [
    'a character too many',
    (sealed, random) => {
      const at = random(sealed.length + 1);
      return sealed.slice(0, at) + String.fromCharCode(random(256)) + sealed.slice(at);
    },
  ],
  [
    'the end of another',
    (sealed, random, seals) => {
      const at = 5 + random(sealed.length - 6) + 1;
      return sealed.slice(0, at) + (seals[random(seals.length)] ?? '').slice(at + random(3));
    },
  ],
  ['bytes of its own', (_sealed, random) => `rgw1_${randomText(random, 30 + random(200))}`],
  ['any text', (_sealed, random) => randomText(random, random(200))],
];

function replaceAt(text: string, at: number, character: string): string {
  return text.slice(0, at) + character + text.slice(at + 1);
}

function letter(random: Random): string {
  return ALPHABET[random(ALPHABET.length)] ?? '';
}

function randomText(random: Random, length: number): string {
  return Array.from({ length }, () => letter(random)).join('');
}

/** The same numbers in every run (xorshift, Marsaglia 2003), so that what is found can be found again. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
