/** Reads an answer of the engine to its end: it reports progress as lines of JSON, an error too. @throws Error that it reported. */
export async function drain(answer: NodeJS.ReadableStream): Promise<void> {
  let text = ''
  for await (const chunk of answer) text = (text + chunk.toString()).slice(-64 * 1024)
  const error = /"error":\s*("(?:[^"\\]|\\.)*")/.exec(text)?.[1]
  if (error !== undefined) throw new Error(JSON.parse(error) as string)
}
