// hull returns the path around points: of one a dot, of two a line, of more the convex hull. A thick round stroke makes
// an area of any of them.
export function hull(points) {
  const p = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const half = (list) => {
    const out = [];
    for (const q of list) {
      while (out.length > 1 && turn(out.at(-2), out.at(-1), q) <= 0) out.pop();
      out.push(q);
    }
    out.pop();
    return out;
  };
  const ring = p.length < 3 ? p : [...half(p), ...half([...p].reverse())];
  if (ring.length === 1) return `M${at(ring[0])}h0.01`;
  return `M${ring.map(at).join('L')}z`;
}

const at = (q) => `${q.x.toFixed(1)} ${q.y.toFixed(1)}`;

function turn(a, b, c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}
