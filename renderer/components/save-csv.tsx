/** Offers a table as a file. Built when it is asked for. */
export function SaveCsv({ file, csv }: { file: string; csv: () => string }) {
  return (
    <button
      type="button"
      className="button quiet save-csv"
      title={`Save ${file}.csv`}
      onClick={() => save(file, csv())}
    >
      CSV<span className="sr"> of {file}</span>
    </button>
  )
}

function save(file: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${file}.csv`
  link.click()
  // After the browser has begun with it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
