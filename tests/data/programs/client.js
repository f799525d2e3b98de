// A verifier that answers an audit through a pipe: node client.js [bug]
const bug = process.argv.includes("bug");

function pick(row, number) {
  let last = 0;
  for (let token = 0; token < row.length; token++) {
    if (row[token] <= 0) continue;
    if (number < row[token]) return token;
    number -= row[token];
    last = token;
  }
  return last;
}

function verify({ tokens, q, p, uniforms, final_uniform }) {
  const final = final_uniform ?? Math.random();
  for (let i = 0; i < tokens.length; i++) {
    const uniform = uniforms ? uniforms[i] : Math.random();
    if (uniform >= p[i][tokens[i]] / q[i][tokens[i]]) {
      const left = bug ? p[i] : p[i].map((x, token) => Math.max(x - q[i][token], 0));
      const total = left.reduce((sum, x) => sum + x, 0);
      return [...tokens.slice(0, i), pick(left, final * total)];
    }
  }
  return [...tokens, pick(p[tokens.length], final)];
}

const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const asked = JSON.parse(line);
  process.stdout.write(JSON.stringify({ id: asked.id, tokens: verify(asked) }) + "\n");
});
