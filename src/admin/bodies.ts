import adminSchema from '../../schemas/admin.json' with { type: 'json' };
import keySchema from '../../schemas/key.json' with { type: 'json' };
import pricesSchema from '../../schemas/prices.json' with { type: 'json' };
import usageSchema from '../../schemas/usage.json' with { type: 'json' };
import { ApiError } from '../core/errors.ts';
import { lazily } from '../core/lazily.ts';
import { openAjv } from '../contract/ajv.ts';
import { toShapeError } from '../contract/shape-error.ts';
import type {
  CreateGroup,
  CreateKey,
  CreditKey,
  RotateKey,
  UpdateGroup,
  UpdateKey,
} from '../contract/operator-types.ts';

/** Compiled at the first use, since most gateways manage no keys. */
const ajv = lazily(() =>
  openAjv({ allowUnionTypes: true, schemas: [pricesSchema, usageSchema, keySchema, adminSchema] }),
);

/** Each returns its body. The ApiError names the wrong field and never quotes its value. */
export const checkCreateKey = toCheck<CreateKey>('CreateKey');
export const checkUpdateKey = toCheck<UpdateKey>('UpdateKey');
export const checkCreateGroup = toCheck<CreateGroup>('CreateGroup');
export const checkUpdateGroup = toCheck<UpdateGroup>('UpdateGroup');
export const checkRotateKey = toCheck<RotateKey>('RotateKey');
export const checkCreditKey = toCheck<CreditKey>('CreditKey');

function toCheck<Body>(name: string): (body: unknown) => Body {
  const compiled = lazily(() => ajv().compile<Body>({ $ref: `admin.json#/$defs/${name}` }));
  return (body) => {
    const hasShape = compiled();
    if (hasShape(body)) return body;
    const errors = hasShape.errors ?? [];
    if (errors[0]?.instancePath === '' && errors[0].keyword === 'type') {
      throw new ApiError('invalid_request', { message: 'The body must be a JSON object.' });
    }
    const { code, param, message } = toShapeError(errors);
    throw new ApiError(code, { param, message });
  };
}
