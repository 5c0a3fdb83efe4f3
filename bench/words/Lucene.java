import java.io.*;
import java.lang.management.*;
import java.nio.file.*;
import java.util.*;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.standard.*;
import org.apache.lucene.analysis.tokenattributes.*;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.store.*;

/** Lucene as a rival of the words index. Answers are lines of kind, number of the query, CPU microseconds of the
 *  thread (the least of the repeats), hits.
 *  Lucene index INDEX DOCS.tsv            one segment, with positions; the id is stored
 *  Lucene query INDEX REPEATS KIND.tsv... the numbers of the best 100 by BM25
 *  Lucene known INDEX [fuzzy] KNOWN.tsv   query id, rank and document id of the best 10, any word, title counts double;
 *                                         fuzzy: a word that no document has also means words one edit away */
public class Lucene {
	static final Analyzer ANALYZER = new StandardAnalyzer();

	static Query term(String field, String word) {
		return new TermQuery(new Term(field, word));
	}

	static Query all(BooleanClause.Occur occur, Query... queries) {
		BooleanQuery.Builder b = new BooleanQuery.Builder();
		for (Query q : queries)
			b.add(q, occur);
		return b.build();
	}

	static Query fuzzy(String word, int edits) {
		FuzzyQuery q = new FuzzyQuery(new Term("body", word), edits, 0, 1024, false);
		q.setRewriteMethod(MultiTermQuery.CONSTANT_SCORE_REWRITE);
		return q;
	}

	static Query make(String kind, String[] w) {
		switch (kind) {
		case "term":
			return term("body", w[1]);
		case "and":
			return all(BooleanClause.Occur.MUST, term("body", w[1]), term("body", w[2]));
		case "or":
			return all(BooleanClause.Occur.SHOULD, term("body", w[1]), term("body", w[2]));
		case "phrase":
			return new PhraseQuery("body", Arrays.copyOfRange(w, 1, w.length));
		case "prefix":
			return new PrefixQuery(new Term("body", w[1]));
		case "fuzzy1":
			return fuzzy(w[1], 1);
		case "fuzzy2":
			return fuzzy(w[1], 2);
		case "attr":
			return w.length == 2 ? term("title", w[1])
					     : all(BooleanClause.Occur.MUST, term("title", w[1]), term("body", w[2]));
		}
		throw new IllegalArgumentException(kind);
	}

	static void index(String index, String docs) throws Exception {
		IndexWriterConfig config = new IndexWriterConfig(ANALYZER);
		config.setOpenMode(IndexWriterConfig.OpenMode.CREATE).setRAMBufferSizeMB(512);
		try (IndexWriter writer = new IndexWriter(new MMapDirectory(Paths.get(index)), config);
		     BufferedReader in = Files.newBufferedReader(Paths.get(docs))) {
			for (String line; (line = in.readLine()) != null;) {
				String[] field = line.split("\t");
				if (field.length < 5)
					continue;
				Document d = new Document();
				d.add(new StoredField("id", field[0]));
				d.add(new TextField("title", field[3], Field.Store.NO));
				d.add(new TextField("body", field[4], Field.Store.NO));
				writer.addDocument(d);
			}
			writer.forceMerge(1);
		}
	}

	static void query(IndexSearcher searcher, int repeats, String file, PrintStream out) throws Exception {
		String kind = new File(file).getName().replace(".tsv", "");
		List<String> lines = Files.readAllLines(Paths.get(file));
		ThreadMXBean clock = ManagementFactory.getThreadMXBean();
		for (int i = 0; i < Math.min(lines.size(), 500); i++) // what is asked often is compiled
			searcher.search(make(kind, lines.get(i).split("\t")), 100);
		for (int i = 0; i < lines.size(); i++) {
			long least = Long.MAX_VALUE, hits = 0;
			for (int r = 0; r < repeats; r++) {
				long from = clock.getCurrentThreadCpuTime();
				hits = searcher.search(make(kind, lines.get(i).split("\t")), 100).scoreDocs.length;
				least = Math.min(least, clock.getCurrentThreadCpuTime() - from);
			}
			out.printf("%s\t%d\t%.1f\t%d\n", kind, i, least / 1e3, hits);
		}
	}

	/** A word in title or body; one that neither has, in its fuzzy form (the first letter stays, at most 50 words). */
	static Query knownWord(IndexReader reader, String field, String word, boolean fuzzy) throws Exception {
		boolean gone = fuzzy && word.length() > 3 &&
			reader.docFreq(new Term("body", word)) + reader.docFreq(new Term("title", word)) == 0;
		return gone ? new FuzzyQuery(new Term(field, word), 1, 1, 50, true) : term(field, word);
	}

	static void known(IndexReader reader, IndexSearcher searcher, boolean fuzzy, String file, PrintStream out)
			throws Exception {
		for (String line : Files.readAllLines(Paths.get(file))) {
			String[] field = line.split("\t");
			BooleanQuery.Builder b = new BooleanQuery.Builder();
			try (TokenStream tokens = ANALYZER.tokenStream("body", field[3])) {
				CharTermAttribute word = tokens.addAttribute(CharTermAttribute.class);
				tokens.reset();
				while (tokens.incrementToken()) {
					String w = word.toString();
					b.add(new BoostQuery(knownWord(reader, "title", w, fuzzy), 2), BooleanClause.Occur.SHOULD);
					b.add(knownWord(reader, "body", w, fuzzy), BooleanClause.Occur.SHOULD);
				}
				tokens.end();
			}
			int rank = 0;
			for (ScoreDoc d : searcher.search(b.build(), 10).scoreDocs)
				out.printf("%s\t%d\t%s\n", field[0], ++rank, searcher.doc(d.doc).get("id"));
		}
	}

	public static void main(String[] args) throws Exception {
		if (args[0].equals("index")) {
			index(args[1], args[2]);
			return;
		}
		PrintStream out = new PrintStream(new BufferedOutputStream(System.out), false, "UTF-8");
		try (IndexReader reader = DirectoryReader.open(new MMapDirectory(Paths.get(args[1])))) {
			IndexSearcher searcher = new IndexSearcher(reader);
			searcher.setQueryCache(null);
			if (args[0].equals("known"))
				known(reader, searcher, args[2].equals("fuzzy"), args[args.length - 1], out);
			for (int i = 3; i < args.length && args[0].equals("query"); i++)
				query(searcher, Integer.parseInt(args[2]), args[i], out);
		}
		out.flush();
	}
}
