#!/usr/bin/env node
// Starts the program of the package for this platform.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@prowess/${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/prowess`);
} catch {
  console.error(`error: no build of prowess for ${process.platform}-${process.arch}`);
  console.error(`hint: if this platform is supported, optional dependencies were left out: npm install ${name}`);
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The terminal sends its signals to both processes; the program decides what they do.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" && signal !== "SIGQUIT") child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`error: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + (constants.signals[signal] ?? 0) : code);
});
