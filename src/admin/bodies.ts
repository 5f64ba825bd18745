import type { ValidateFunction } from 'ajv';
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
export const checkCreateKey = toCheck(() => ajv().compile<CreateKey>({ $ref: 'admin.json#/$defs/CreateKey' }));
export const checkUpdateKey = toCheck(() => ajv().compile<UpdateKey>({ $ref: 'admin.json#/$defs/UpdateKey' }));
export const checkCreateGroup = toCheck(() => ajv().compile<CreateGroup>({ $ref: 'admin.json#/$defs/CreateGroup' }));
export const checkUpdateGroup = toCheck(() => ajv().compile<UpdateGroup>({ $ref: 'admin.json#/$defs/UpdateGroup' }));
export const checkRotateKey = toCheck(() => ajv().compile<RotateKey>({ $ref: 'admin.json#/$defs/RotateKey' }));
export const checkCreditKey = toCheck(() => ajv().compile<CreditKey>({ $ref: 'admin.json#/$defs/CreditKey' }));

function toCheck<Body>(compile: () => ValidateFunction<Body>): (body: unknown) => Body {
  const compiled = lazily(compile);
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
