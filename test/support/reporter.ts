import Mocha from 'mocha';

/** mocha's dots and its summary, and then one line for other programs to read, such as `12 passed, 0 failed`. */
// mocha takes a reporter from the default export only.
// oxlint-disable-next-line import/no-default-export
export default class TotalsReporter extends Mocha.reporters.Dot {
  override epilogue(): void {
    super.epilogue();
    const { passes, failures } = this.stats;
    Mocha.reporters.Base.consoleLog(`${passes} passed, ${failures} failed`);
  }
}
