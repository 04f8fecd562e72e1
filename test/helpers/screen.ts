/** Screen of a terminal after received bytes. It supports the control codes that spinners and status lines use. */
export class Screen {
  readonly #columns: number;
  #rows: string[] = [''];
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(text: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled with these
    for (const [part] of text.matchAll(/\x1b\[[?\d;]*[A-Za-z]|./gs)) {
      if (part.startsWith('\x1b[')) this.#control(part.slice(2, -1), part.at(-1) as string);
      else if (part === '\n') this.#move(this.#row + 1, 0);
      else if (part === '\r') this.#column = 0;
      else this.#put(part);
    }
  }

  /** @returns the lines without trailing spaces, and without empty lines at the end */
  lines(): string[] {
    const lines = this.#rows.map((row) => row.trimEnd());
    while (lines.at(-1) === '') lines.pop();
    return lines;
  }

  #put(character: string): void {
    if (this.#column >= this.#columns) this.#move(this.#row + 1, 0);
    const row = (this.#rows[this.#row] as string).padEnd(this.#column);
    this.#rows[this.#row] = row.slice(0, this.#column) + character + row.slice(this.#column + 1);
    this.#column++;
  }

  #control(parameters: string, command: string): void {
    const count = Number(parameters || 1);
    if (command === 'A') this.#move(Math.max(0, this.#row - count), this.#column);
    if (command === 'G') this.#column = count - 1;
    if (command !== 'K') return;
    const row = this.#rows[this.#row] as string;
    this.#rows[this.#row] = parameters === '2' ? '' : parameters === '1' ? row : row.slice(0, this.#column);
  }

  #move(row: number, column: number): void {
    this.#row = row;
    this.#column = column;
    while (this.#rows.length <= row) this.#rows.push('');
  }
}
