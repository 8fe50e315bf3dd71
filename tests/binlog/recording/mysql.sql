-- Types and tables that only MySQL has.
CREATE TABLE only_mysql (id INT PRIMARY KEY, vec VECTOR(3), v1 BIGINT UNSIGNED, j JSON, v2 VARCHAR(9), tags JSON,
  virt INT UNSIGNED AS (id + 2) VIRTUAL, hidden INT UNSIGNED INVISIBLE DEFAULT 9, v3 BIGINT UNSIGNED,
  KEY multi ((CAST(tags->'$' AS UNSIGNED ARRAY))), KEY expression ((id + v1))) ENGINE=InnoDB;
INSERT INTO only_mysql (id, vec, v1, j, v2, tags, v3) VALUES
  (1, TO_VECTOR('[1, 2, 3]'), 1, '{"a": 1}', 'two', '[1, 2, 3]', 18446744073709551615), (2, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, TO_VECTOR('[1]'), 3, '[]', 'three', '[]', 3);
UPDATE only_mysql SET tags = '[9, 8]', v3 = 33 WHERE id = 3;
DELETE FROM only_mysql WHERE id = 2;
CREATE TABLE parted (id INT PRIMARY KEY, v VARCHAR(10)) ENGINE=InnoDB PARTITION BY RANGE (id)
  (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN MAXVALUE);
INSERT INTO parted VALUES (1, 'one'), (11, 'eleven'), (21, 'twenty-one'), (2, 'two');
UPDATE parted SET id = 12 WHERE id = 2;
UPDATE parted SET v = 'same' WHERE id = 21;
DELETE FROM parted WHERE id = 11;
SET sql_generate_invisible_primary_key = ON;
CREATE TABLE invisible_key (a VARCHAR(10), b INT UNSIGNED);
INSERT INTO invisible_key VALUES ('a', 1), ('b', 2);
UPDATE invisible_key SET b = 3 WHERE a = 'b';
