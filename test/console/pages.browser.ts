import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { DEVICES, expectGoodLooks } from './looks.ts';
import { useConsole } from './scene.ts';

for (const { device, viewport } of DEVICES) {
  for (const colorScheme of ['light', 'dark'] as const) {
    describe(`the pages beside the console on a ${device}, ${colorScheme}`, () => {
      const scene = useConsole();

      const open = async (path: string): Promise<Page> => {
        const page = await scene.open({ viewport, colorScheme });
        await page.goto(scene.gateway.url + path);
        return page;
      };

      it('show where to go from here', async () => {
        const page = await open('/');
        await page.getByRole('heading', { name: 'The first request' }).waitFor();
        await expectGoodLooks(page, `landing-${device}-${colorScheme}`);
      });

      it('show the API', async () => {
        const page = await open('/docs');
        for (const name of ['CreateResponse', 'InputImage'])
          await page.locator('summary', { hasText: name }).first().click();
        await expectGoodLooks(page, `docs-${device}-${colorScheme}`);
      });
    });
  }
}

describe('the pages beside the console', () => {
  const scene = useConsole();

  it('lead to each other, and to the console', async () => {
    const page = await scene.open();
    await page.goto(scene.gateway.url);
    const bar = page.getByRole('navigation', { name: 'Pages' });
    await bar.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('heading', { name: 'API', exact: true }).waitFor();
    await bar.getByRole('link', { name: 'Console' }).click();
    await page.getByLabel('API key', { exact: true }).waitFor();
  });

  it('open a schema for whoever follows a link to it', async () => {
    const page = await scene.open();
    await page.goto(`${scene.gateway.url}/docs`);
    const property = page.locator('#schema-CreateResponse').getByText('max_output_tokens');
    expect(await property.isVisible()).to.equal(false);
    await page.locator('#createResponse ~ p').getByRole('link', { name: 'CreateResponse' }).click();
    await property.waitFor();
  });
});
