// guard's plugin for OpenCode: asks guard's hook, which stands beside this file, before and after every tool.
// A tool that guard refuses, or cannot be asked about, does not run: the error that is thrown is what the model gets to read.

import { spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const HOOK = join(dirname(fileURLToPath(import.meta.url)), "hook")
const BEFORE = 10_000 // milliseconds for an answer before a tool, most of them for a first copy of many files
const AROUND = 40_000 // and for looking after the files when it is over
const REPAIR = "Nothing was run, and this says nothing about the call. See: guard doctor"

// Gives { status, text }: 0 for consent, 2 for refused, null where the hook could not say.
function ask(payload, cwd, limit) {
  return new Promise((resolve) => {
    let text = ""
    const end = (status, more) => resolve({ status, text: text + more })
    try {
      const child = spawn(HOOK, ["opencode"], { cwd, stdio: ["pipe", "ignore", "pipe"] })
      const timer = setTimeout(() => {
        child.kill("SIGKILL")
        end(null, "it gave no answer in time")
      }, limit)
      child.stderr.setEncoding("utf8")
      child.stderr.on("data", (chunk) => (text += chunk))
      child.on("error", (error) => {
        clearTimeout(timer)
        end(null, String(error.message ?? error))
      })
      child.on("close", (status) => {
        clearTimeout(timer)
        end(status, "")
      })
      child.stdin.on("error", () => {}) // a hook that has answered need not have read all
      child.stdin.end(JSON.stringify(payload))
    } catch (error) {
      end(null, String(error?.message ?? error))
    }
  })
}

export const Guard = async ({ directory }) => {
  const payload = (event, input, more) => ({
    hook_event_name: event,
    session_id: input?.sessionID ?? "",
    tool_use_id: input?.callID ?? "",
    cwd: directory,
    ...more,
  })
  return {
    "tool.execute.before": async (input, output) => {
      const call = { tool_name: input.tool, tool_input: output.args ?? {} }
      const said = await ask(payload("tool.execute.before", input, call), directory, BEFORE + AROUND)
      if (said.status === 0) return
      const why = said.text.trim()
      throw new Error(said.status === 2 && why ? why : `guard: refused: its hook cannot run (${why || said.status}). ${REPAIR}`)
    },
    "tool.execute.after": async (input, output) => {
      const said = await ask(payload("tool.execute.after", input, { tool_name: input.tool }), directory, AROUND)
      const text = said.text.trim()
      if (said.status !== 0 && text && output) output.output = `${output.output ?? ""}\n${text}`
    },
    event: async ({ event }) => {
      if (event?.type !== "session.created" && event?.type !== "session.idle") return
      const properties = event.properties ?? {}
      const session = { sessionID: properties.sessionID ?? properties.info?.id }
      await ask(payload(event.type, session, { version: properties.info?.version ?? "" }), directory, AROUND)
    },
  }
}
