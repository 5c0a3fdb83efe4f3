/* All statements of the cache's database but those of its check; doc/formats/database.md has the
 * tables. */
#pragma once

#define URL_COLUMNS "provider,hash,n,qset,slot,row,version,lcc,gone,age,seen"
#define QUEUE_COLUMNS "qset,slot,row,provider,tries,code,is_nothing,reason,data"
#define LCC_COLUMNS "row,provider,hash,at,age,machine,file,mime,etag,size,mtime,md5,data"
#define GONE_COLUMNS "id,provider,hash,at,state,code,reason,c,mime"
#define SET_COLUMNS \
	"id,num,uns,number,provider,is_full,urls,at,pieces,state,piece_at,byte_at,walks,hash,n"
#define PART_COLUMNS "qset,slot,start,provider,priority,first,last,rows"
#define TALLY_COLUMNS \
	"provider,files,space,queued,fresh,fresh_space,errors,errors_kept,open_sets,fetches"

/* clang-format off */
#define DB_SQL(X) \
	X(META_GET, "SELECT next_row,next_set,next_error,age,slot_us,period FROM meta") \
	X(META_PUT, "UPDATE meta SET next_row=?1,next_set=?2,next_error=?3,age=?4,slot_us=?5," \
		"period=?6") \
	X(TALLY_GET, "SELECT " TALLY_COLUMNS " FROM tally WHERE provider=?1") \
	X(TALLY_PUT, "REPLACE INTO tally(" TALLY_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)") \
	X(TALLY_DROP, "DELETE FROM tally WHERE provider=?1") \
	X(TALLY_SUM, "SELECT ifnull(sum(queued),0),ifnull(sum(files),0) FROM tally") \
	X(HELD_PUT, "REPLACE INTO held VALUES(?1,?2,?3)") \
	X(HELD_GET, "SELECT until,why FROM held WHERE provider=?1") \
	X(HELD_DROP, "DELETE FROM held WHERE provider=?1") \
	X(TALLY_LAST, "SELECT ifnull(max(provider),0) FROM tally") \
	X(TALLY_NEXT, "SELECT provider FROM tally WHERE provider>?1 ORDER BY provider LIMIT 1") \
	X(PART_GET, "SELECT " PART_COLUMNS " FROM part WHERE qset=?1 AND slot=?2") \
	X(PART_PUT, "REPLACE INTO part(" PART_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8)") \
	X(PART_DROP, "DELETE FROM part WHERE qset=?1 AND slot=?2") \
	X(PART_ALL, "SELECT " PART_COLUMNS " FROM part ORDER BY qset,slot") \
	X(PART_DUE, "UPDATE part SET start=-1 WHERE start=?1") \
	X(PART_PRIORITY, "UPDATE part SET priority=?2 WHERE provider=?1") \
	X(PART_CLEAR, "DELETE FROM part") \
	X(PART_SUM, "SELECT ifnull(sum(rows),0),count(*) FROM part") \
	X(URL_GET, "SELECT " URL_COLUMNS " FROM url WHERE provider=?1 AND hash=?2 ORDER BY n") \
	X(URL_PUT, "REPLACE INTO url(" URL_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)") \
	X(URL_DROP, "DELETE FROM url WHERE provider=?1 AND hash=?2 AND n=?3") \
	X(URL_WALK, "SELECT " URL_COLUMNS " FROM url WHERE provider=?1 AND (hash,n)>(?2,?3) " \
		"ORDER BY hash,n") \
	X(URL_FIRST, "SELECT " URL_COLUMNS " FROM url WHERE provider=?1 LIMIT ?2") \
	X(QUEUE_GET, "SELECT " QUEUE_COLUMNS " FROM queue WHERE qset=?1 AND slot=?2 AND row=?3") \
	X(QUEUE_ON, "SELECT " QUEUE_COLUMNS " FROM queue WHERE qset=?1 AND slot=?2 AND row>=?3 " \
		"ORDER BY row") \
	X(QUEUE_NEXT, "SELECT " QUEUE_COLUMNS " FROM queue WHERE qset=?1 AND slot=?2 AND row>?3 " \
		"ORDER BY row LIMIT 1") \
	X(QUEUE_FIRST, "SELECT row FROM queue WHERE qset=?1 AND slot=?2 ORDER BY row LIMIT 1") \
	X(QUEUE_LAST, "SELECT row FROM queue WHERE qset=?1 AND slot=?2 ORDER BY row DESC LIMIT 1") \
	X(QUEUE_PART, "SELECT qset,slot FROM queue WHERE (qset,slot)>(?1,?2) ORDER BY qset,slot LIMIT 1") \
	X(QUEUE_ALL, "SELECT qset,slot,row,provider FROM queue ORDER BY qset,slot,row") \
	X(QUEUE_PUT, "REPLACE INTO queue(" QUEUE_COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)") \
	X(QUEUE_DROP, "DELETE FROM queue WHERE qset=?1 AND slot=?2 AND row=?3") \
	X(LCC_GET, "SELECT " LCC_COLUMNS " FROM lcc WHERE row=?1") \
	X(LCC_ON, "SELECT " LCC_COLUMNS " FROM lcc WHERE row>=?1 ORDER BY row") \
	X(LCC_WALK, "SELECT row,provider,hash,age FROM lcc WHERE row>?1 ORDER BY row LIMIT ?2") \
	X(LCC_FILES, "SELECT machine,file FROM lcc") \
	X(LCC_PUT, "REPLACE INTO lcc(" LCC_COLUMNS ") " \
		"VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)") \
	X(LCC_DATA, "UPDATE lcc SET data=?2 WHERE row=?1") \
	X(LCC_DROP, "DELETE FROM lcc WHERE row=?1") \
	X(GONE_GET, "SELECT " GONE_COLUMNS " FROM gone WHERE id=?1") \
	X(GONE_OLDEST, "SELECT id FROM gone ORDER BY id LIMIT 1") \
	X(GONE_PUT, "INSERT INTO gone(provider,hash,at,state,code,reason,c,mime) " \
		"VALUES(?1,?2,?3,?4,?5,?6,?7,?8) RETURNING id") \
	X(GONE_DROP, "DELETE FROM gone WHERE id=?1") \
	X(FSM_ADD, "INSERT INTO fsm(machine,file) VALUES(?1,?2)") \
	X(FSM_NEXT, "SELECT id,machine,file FROM fsm WHERE id>?1 ORDER BY id LIMIT 1") \
	X(FSM_OF, "SELECT id,machine,file FROM fsm WHERE machine=?2 AND id>?1 ORDER BY id LIMIT 1") \
	X(FSM_DROP, "DELETE FROM fsm WHERE id=?1") \
	X(ERROR_ADD, "REPLACE INTO error(provider,seq,at,code,reason,data) VALUES(?1,?2,?3,?4,?5,?6)") \
	X(ERROR_DROP, "DELETE FROM error WHERE provider=?1 AND seq=" \
		"(SELECT min(seq) FROM error WHERE provider=?1)") \
	X(ERROR_LIST, "SELECT at,code,reason,data FROM error WHERE provider=?1 " \
		"ORDER BY seq DESC LIMIT ?2") \
	X(ERROR_CLEAR, "DELETE FROM error WHERE provider=?1") \
	X(FETCH_PUT, "REPLACE INTO fetched(provider,k,at,url,code,size) VALUES(?1,?2,?3,?4,?5,?6)") \
	X(FETCH_LIST, "SELECT k,at,url,code,size FROM fetched WHERE provider=?1 ORDER BY k DESC") \
	X(FETCH_CLEAR, "DELETE FROM fetched WHERE provider=?1") \
	X(SENT_PUT, "REPLACE INTO sent(row,at) VALUES(?1,?2)") \
	X(SENT_GET, "SELECT at FROM sent WHERE row=?1") \
	X(SENT_DROP, "DELETE FROM sent WHERE row=?1") \
	X(SENT_CLEAR, "DELETE FROM sent") \
	X(MIME_ADD, "INSERT OR IGNORE INTO mime(name) VALUES(?1)") \
	X(MIME_ALL, "SELECT name FROM mime ORDER BY name") \
	X(SET_BY_NUMBER, "SELECT " SET_COLUMNS " FROM sets WHERE uns=?1 AND number=?2") \
	X(SET_BY_SET, "SELECT " SET_COLUMNS " FROM sets WHERE num=?1") \
	X(SET_NEXT, "SELECT " SET_COLUMNS " FROM sets WHERE state=1 AND num>?1 ORDER BY num LIMIT 1") \
	X(SET_OF, "SELECT " SET_COLUMNS " FROM sets WHERE provider=?1 AND num>0 AND " \
		"(?2 IS NULL OR uns=?2) AND (?3=0 OR number=?3) ORDER BY num DESC LIMIT 1") \
	X(SET_OPEN, "SELECT ifnull(sum(urls*(pieces-piece_at)/max(pieces,1)),0) FROM sets " \
		"WHERE provider=?1 AND state=1") \
	X(SET_OLD, "SELECT " SET_COLUMNS " FROM sets WHERE state=2 AND at<?1 ORDER BY at LIMIT 1") \
	X(SET_TAKING, "SELECT " SET_COLUMNS " FROM sets WHERE state=0 AND (?1 IS NULL OR uns=?1) LIMIT 1") \
	X(SET_FIRST, "SELECT " SET_COLUMNS " FROM sets WHERE provider=?1 LIMIT 1") \
	X(SET_ADD, "INSERT INTO sets(num,uns,number,provider,is_full,urls,at,pieces,state,piece_at," \
		"byte_at,walks,hash,n) VALUES(0,?1,?2,?3,?4,?5,?6,0,0,0,0,0,0,0) RETURNING id") \
	X(SET_TOOK, "UPDATE sets SET num=?2,pieces=?3,state=?4 WHERE id=?1") \
	X(SET_AT, "UPDATE sets SET state=?2,piece_at=?3,byte_at=?4,walks=?5,hash=?6,n=?7 WHERE id=?1") \
	X(SET_DROP, "DELETE FROM sets WHERE id=?1") \
	X(PIECE_ADD, "REPLACE INTO piece(id,data) VALUES(?1,?2)") \
	X(PIECE_GET, "SELECT data FROM piece WHERE id=?1") \
	X(PIECE_DROP, "DELETE FROM piece WHERE id IN (SELECT id FROM piece WHERE id>=?1 AND id<=?2 LIMIT ?3)")
/* clang-format on */

enum db_sql {
#define X(symbol, text) SQL_##symbol,
	DB_SQL(X)
#undef X
		DB_NSQL
};
extern const char *const db_sql_text[DB_NSQL];
