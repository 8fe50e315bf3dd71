-- Temporal types of before MariaDB 10.1: their width, that is, their fraction, is not in the log.
SET GLOBAL mysql56_temporal_format = OFF;
CREATE TABLE old_temporal (id INT PRIMARY KEY, t TIME, t6 TIME(6), v1 INT UNSIGNED, dt DATETIME, dt3 DATETIME(3),
  v2 INT UNSIGNED, ts TIMESTAMP NULL, ts2 TIMESTAMP(2) NULL, v3 VARCHAR(5)) ENGINE=InnoDB;
INSERT INTO old_temporal VALUES (1, '1:2:3', '4:5:6.789', 1, '2026-11-21 1:2:3', '2026-11-21 1:2:3.456', 2,
  '2026-11-21 1:2:3', '2026-11-21 1:2:3.45', 'three'), (2, NULL, NULL, 1, NULL, NULL, 2, NULL, NULL, 'three');
UPDATE old_temporal SET v3 = 'new' WHERE id = 1;
SET GLOBAL mysql56_temporal_format = ON;
