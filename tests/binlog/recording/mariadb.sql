-- Types that only MariaDB has.
CREATE TABLE only_mariadb (
  id INT PRIMARY KEY, u UUID, v1 BIGINT UNSIGNED, n6 INET6, v2 BIGINT UNSIGNED, n4 INET4, v3 CHAR(4) CHARACTER SET latin1,
  vc VARCHAR(100) COMPRESSED, v4 BIGINT UNSIGNED, bc BLOB COMPRESSED, v5 VARCHAR(9), hidden INT UNSIGNED INVISIBLE DEFAULT 9,
  g GEOMETRY, v6 CHAR(4) CHARACTER SET utf8mb4, z TINYINT(3) UNSIGNED, stored INT UNSIGNED AS (id + 1) STORED,
  virt INT UNSIGNED AS (id + 2) VIRTUAL) ENGINE=InnoDB;
INSERT INTO only_mariadb (id, u, v1, n6, v2, n4, v3, vc, v4, bc, v5, g, v6, z) VALUES
  (1, '123e4567-e89b-12d3-a456-426655440000', 1, '2001:db8::ff00:42:8329', 2, '192.0.2.1', 'four', REPEAT('c', 100), 4,
   REPEAT('d', 300), 'five', ST_GeomFromText('POINT(1 2)'), '€', 255),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (3, '00000000-0000-0000-0000-000000000000', 3, '::', 3, '0.0.0.0', '', '', 3, '', '', NULL, '', 0);
UPDATE only_mariadb SET u = '0190163d-8694-739b-aea5-966c26f8ad91', v5 = 'v7' WHERE id = 3;
DELETE FROM only_mariadb WHERE id = 2;
