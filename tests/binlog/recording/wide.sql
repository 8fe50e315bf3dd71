-- Types without a text form between columns that have one: whoever skips one wrongly reads the next one wrongly.
CREATE TABLE wide (
  id INT UNSIGNED PRIMARY KEY, flag BOOLEAN, v1 INT UNSIGNED, bit1 BIT(1), bit17 BIT(17), bit64 BIT(64), v2 TINYINT UNSIGNED,
  f FLOAT, d DOUBLE, du DOUBLE UNSIGNED, v3 VARCHAR(10), t0 TIME, t1 TIME(1), t3 TIME(3), t6 TIME(6), v4 SMALLINT UNSIGNED,
  dt0 DATETIME, dt2 DATETIME(2), dt4 DATETIME(4), dt6 DATETIME(6), v5 CHAR(3),
  ts0 TIMESTAMP NULL, ts1 TIMESTAMP(1) NULL, ts5 TIMESTAMP(5) NULL, ts6 TIMESTAMP(6) NULL, v6 BINARY(4),
  e ENUM('a', 'b', 'c') CHARACTER SET latin1, e_long ENUM(@LABELS@), v7 DECIMAL(6,2),
  s1 SET('x', 'y', 'z'), s8 SET(@MEMBERS@), v8 MEDIUMINT UNSIGNED,
  tb TINYBLOB, bb BLOB, mb MEDIUMBLOB, lb LONGBLOB, v9 DATE, tt TINYTEXT, tx TEXT, mt MEDIUMTEXT CHARACTER SET latin1,
  lt LONGTEXT, v10 YEAR, j JSON, p POINT, g GEOMETRY, v11 BIGINT UNSIGNED, v12 VARCHAR(10) CHARACTER SET ascii) ENGINE=InnoDB
  CHARACTER SET utf8mb4;
INSERT INTO wide VALUES
  (1, 1, 4294967295, b'1', b'10101010101010101', ~0, 255, 1.5, -2.25, 1e300, 'three', '-838:59:59', '12:34:56.7',
   '-12:34:56.789', '00:00:00.000001', 65535, '2026-11-21 12:34:56', '2026-11-21 12:34:56.78', '1000-01-01 00:00:00.0001',
   '9999-12-31 23:59:59.999999', 'v5', '2026-11-21 12:34:56', '2026-11-21 12:34:56.7', '2026-11-21 12:34:56.78901',
   '2026-11-21 12:34:56.789012', 'v6', 'b', 'l299', -1234.56, 'x,z', 'm0,m39', 16777215, 'tb', REPEAT('bb', 200),
   REPEAT('mb', 100), 'lb', '2026-11-21', 'tt', REPEAT('tx', 150), 'mt', 'lt', 2026, '{"a": [1, 2, {"b": null}]}',
   ST_GeomFromText('POINT(1 2)'), ST_GeomFromText('LINESTRING(0 0, 1 1, 2 2)'), 18446744073709551615, 'twelve'),
  (2, NULL, 2, NULL, NULL, NULL, 2, NULL, NULL, NULL, 'two', NULL, NULL, NULL, NULL, 2, NULL, NULL, NULL, NULL, '2', NULL, NULL,
   NULL, NULL, '2', NULL, NULL, 2, NULL, NULL, 2, NULL, NULL, NULL, NULL, '2002-02-02', NULL, NULL, NULL, NULL, 2002, NULL, NULL,
   NULL, 2, 'two'),
  (3, 0, NULL, b'0', b'0', b'0', NULL, 0, 0, 0, NULL, '0:0', '0:0', '0:0', '0:0', NULL, '2000-01-01', '2000-01-01', '2000-01-01',
   '2000-01-01', NULL, '2000-01-01', '2000-01-01', '2000-01-01', '2000-01-01', NULL, 'a', 'l0', NULL, '', '', NULL, '', '', '', '',
   NULL, '', '', '', '', NULL, '{}', ST_GeomFromText('POINT(0 0)'), ST_GeomFromText('POINT(0 0)'), NULL, NULL),
  (4, 1, 4, b'1', b'1', b'1', 4, 4, 4, 4, '4', '4:4', '4:4', '4:4', '4:4', 4, '2004-04-04', '2004-04-04', '2004-04-04',
   '2004-04-04', '4', '2004-04-04', '2004-04-04', '2004-04-04', '2004-04-04', '4', 'c', 'l1', 4, 'y', 'm1', 4, '4', '4', '4', '4',
   '2004-04-04', '4', '4', '4', '4', 2004, '4', ST_GeomFromText('POINT(4 4)'), ST_GeomFromText('POINT(4 4)'), 4, '4');
UPDATE wide SET bb = 'changed', v3 = 'new', v11 = 11 WHERE id = 2;
UPDATE wide SET id = 40, v12 = NULL WHERE id = 4;
UPDATE wide SET v1 = NULL WHERE id = 1;
DELETE FROM wide WHERE id = 3;
INSERT INTO wide (id, v12) VALUES (5, 'five'), (6, NULL);
DELETE FROM wide WHERE id = 6;
