import Mocha from 'mocha';

/**
 * mocha's dots and its summary, the tests that failed before they passed (with `--retries`), and then one line for other
 * programs to read, such as `12 passed, 0 failed`.
 */
// mocha takes a reporter from the default export only.
// oxlint-disable-next-line import/no-default-export
export default class TotalsReporter extends Mocha.reporters.Dot {
  readonly #retried: string[] = [];

  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.on(Mocha.Runner.constants.EVENT_TEST_RETRY, (test, error) => {
      this.#retried.push(`${test.fullTitle()}: ${error.message}`);
    });
  }

  override epilogue(): void {
    super.epilogue();
    for (const test of this.#retried) Mocha.reporters.Base.consoleLog(`failed once: ${test}`);
    const { passes, failures } = this.stats;
    Mocha.reporters.Base.consoleLog(`${passes} passed, ${failures} failed`);
  }
}
