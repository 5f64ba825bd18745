import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect } from 'chai';
import type { Request, Response } from 'express';
import { createObjectEnd } from '../../../src/core/reply/json-end.ts';
import { httpClient } from '../../../src/http/responses/client.ts';
import { keepFacts, type RequestFacts } from '../../../src/requests/facts.ts';
import { openMachine } from '../../support/machine.ts';

describe('what is made for each request', () => {
  const makers: readonly { name: string; make: () => object }[] = [
    {
      name: 'the client',
      make() {
        const req = new IncomingMessage(new Socket()) as Request;
        const res = new ServerResponse(req) as unknown as Response;
        keepFacts(res, {} as RequestFacts);
        return httpClient(req, res, null);
      },
    },
    { name: 'the translator', make: () => openMachine() },
    { name: 'the end of the arguments of a call', make: createObjectEnd },
  ];
  for (const { name, make } of makers) {
    it(`has no getter of its own, which would keep it in memory: ${name}`, () => {
      const own = Object.values(Object.getOwnPropertyDescriptors(make()));
      expect(own.filter((property) => property.get !== undefined)).to.deep.equal([]);
      expect(own).to.not.deep.equal([]);
    });
  }
});
