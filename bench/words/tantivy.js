// tantivy as a rival, by way of its npm binding @oxdev03/node-tantivy-binding-linux-x64-gnu, which NODE_PATH must reach.
//   node tantivy.js index INDEX DOCS.tsv              one writer thread, with positions; the id is stored
//   node tantivy.js query INDEX REPEATS KIND.tsv...   lines as of the Lucene driver; CPU of the whole process
'use strict';
const fs = require('fs'), path = require('path'), readline = require('readline');
const tantivy = require('@oxdev03/node-tantivy-binding-linux-x64-gnu');
const [verb, folder, ...rest] = process.argv.slice(2);

async function index(docs) {
  fs.mkdirSync(folder, {recursive: true});
  const schema = new tantivy.SchemaBuilder()
    .addTextField('id', {stored: true, tokenizerName: 'raw', indexOption: 'basic'})
    .addTextField('title', {stored: false, indexOption: 'position'})
    .addTextField('body', {stored: false, indexOption: 'position'}).build();
  const writer = new tantivy.Index(schema, folder).writer(500000000, 1);
  const lines = readline.createInterface({input: fs.createReadStream(docs), crlfDelay: Infinity});
  for await (const line of lines) {
    const field = line.split('\t');
    if (field.length < 5) continue;
    const doc = new tantivy.Document();
    doc.addText('id', field[0]);
    doc.addText('title', field[3]);
    doc.addText('body', field[4]);
    writer.addDocument(doc);
  }
  writer.commit();
  writer.waitMergingThreads();
}

function make(schema, kind, w) {
  const Q = tantivy.Query, {Must, Should} = tantivy.Occur;
  const term = (field, word) => Q.termQuery(schema, field, word);
  const all = (occur, ...queries) => Q.booleanQuery(queries.map(query => ({occur, query})));
  switch (kind) {
    case 'term': return term('body', w[1]);
    case 'and': return all(Must, term('body', w[1]), term('body', w[2]));
    case 'or': return all(Should, term('body', w[1]), term('body', w[2]));
    case 'phrase': return Q.phraseQuery(schema, 'body', w.slice(1));
    case 'prefix': return Q.regexQuery(schema, 'body', w[1] + '.*');
    case 'fuzzy1': return Q.fuzzyTermQuery(schema, 'body', w[1], 1, false, false);
    case 'fuzzy2': return Q.fuzzyTermQuery(schema, 'body', w[1], 2, false, false);
    case 'attr': return w.length === 2 ? term('title', w[1]) : all(Must, term('title', w[1]), term('body', w[2]));
  }
  throw new Error(kind);
}

function query(repeats, files) {
  const ix = tantivy.Index.open(folder), searcher = ix.searcher(), schema = ix.schema;
  for (const file of files) {
    const kind = path.basename(file, '.tsv');
    fs.readFileSync(file, 'utf8').trimEnd().split('\n').forEach((line, i) => {
      const w = line.split('\t');
      let least = Infinity, hits = 0;
      for (let r = 0; r < repeats; r++) {
        const from = process.cpuUsage();
        hits = searcher.search(make(schema, kind, w), 100, false).hits.length;
        const used = process.cpuUsage(from);
        least = Math.min(least, used.user + used.system);
      }
      console.log([kind, i, least.toFixed(1), hits].join('\t'));
    });
  }
}

if (verb === 'index') index(rest[0]);
else query(Number(rest[0]), rest.slice(1));
