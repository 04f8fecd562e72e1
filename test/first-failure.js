/** A reporter for mutation tests: one failing test is enough. */
export default async function* firstFailure(events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue;
    process.stdout.write(`${data.name}\n`, () => process.exit(1));
    return;
  }
  yield '';
}
