// Return a PNG (base64) as one byte a pixel: an index into its 256 most frequent colours.
async (png) => {
  const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const { width, height } = image;
  const drawing = new OffscreenCanvas(width, height).getContext("2d");
  drawing.drawImage(image, 0, 0);
  const { data } = drawing.getImageData(0, 0, width, height);
  const colour = (at) => (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];

  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    counts.set(colour(at), (counts.get(colour(at)) ?? 0) + 1);
  }
  const frequent = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 256);
  const palette = frequent.map(([value]) => [value >> 16, (value >> 8) & 255, value & 255]);
  const distance = (one, other) => one.reduce((sum, part, at) => sum + (part - other[at]) ** 2, 0);
  const nearest = (value) => {
    const wanted = [value >> 16, (value >> 8) & 255, value & 255];
    const far = palette.map((one) => distance(one, wanted));
    return far.indexOf(Math.min(...far));
  };

  const known = new Map([...counts.keys()].map((value) => [value, nearest(value)]));
  const pixels = new Uint8Array(width * height);
  for (let at = 0; at < pixels.length; at++) pixels[at] = known.get(colour(4 * at));
  const reader = new FileReader();
  const read = new Promise((done) => { reader.onload = done; });
  reader.readAsDataURL(new Blob([pixels]));
  await read;
  return { width, height, palette: palette.flat(), pixels: reader.result.split(",")[1] };
}
