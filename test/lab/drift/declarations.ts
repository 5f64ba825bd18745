/** What declarations in TypeScript name. They are read as text, because those of other packages need not compile here. */

/** Returns the values of `type` in the objects of a union. Throws if it finds none. */
export function typesOf(source: string, union: string): readonly string[] {
  return found([...new Set(typesIn(withoutComments(source), union))], union);
}

/** Returns the names of the fields of an interface. Throws if it finds none. */
export function fieldsOf(source: string, name: string): readonly string[] {
  const fields = bodyOf(withoutComments(source), name).matchAll(/^ {4}(\w+)\??:/gm);
  return found(
    [...fields].map(([, field = '']) => field),
    name,
  );
}

/** Returns the members of `const name = new Set([…])`. Throws if it finds none. */
export function membersOf(source: string, name: string): readonly string[] {
  const [, members = ''] = new RegExp(`const ${name} = new Set\\(\\[([^\\]]*)`).exec(source) ?? [];
  return found(literalsIn(members), name);
}

function found(names: readonly string[], where: string): readonly string[] {
  if (names.length === 0) throw new Error(`Nothing was found in ${where}. Its package has another layout now.`);
  return names;
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[^]*?\*\//g, '');
}

/** A brace, a field `type` with its values, or the name of another type. */
const TOKEN = /[{}]|"?\btype"?\??: ((?:\| )?(?:["'][\w.]+["'](?: \| )?)+)|\b[A-Z]\w*(?:\.[A-Z]\w*)*/g;

function typesIn(source: string, name: string): string[] {
  const types: string[] = [];
  let depth = 0;
  for (const [token, values] of bodyOf(source, name).matchAll(TOKEN)) {
    if (token === '{') depth += 1;
    else if (token === '}') depth -= 1;
    else if (values === undefined && depth === 0) types.push(...typesIn(source, token));
    else if (values !== undefined && depth === 1) types.push(...literalsIn(values));
  }
  return types;
}

/** The text behind the name of a declaration, which may be in a namespace; empty if there is none. */
function bodyOf(source: string, name: string): string {
  const [outer = '', inner] = name.split('.');
  const inside = inner === undefined ? source : (source.split(`declare namespace ${outer} {`)[1] ?? '');
  const indent = inner === undefined ? '' : ' +';
  const declared = new RegExp(`^${indent}(?:export )?(interface|type) ${inner ?? outer}(?= [={]| extends)([^]*)`, 'm');
  const [, kind, rest = ''] = declared.exec(inside) ?? [];
  const last = kind === 'interface' ? '}' : ';';
  let depth = 0;
  for (const { 0: mark, index } of rest.matchAll(/[{};]/g)) {
    if (mark !== ';') depth += mark === '{' ? 1 : -1;
    if (depth === 0 && mark === last) return rest.slice(0, index + 1);
  }
  return '';
}

function literalsIn(text: string): string[] {
  return [...text.matchAll(/["']([\w.]+)["']/g)].map(([, literal = '']) => literal);
}
