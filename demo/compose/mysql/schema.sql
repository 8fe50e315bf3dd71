-- Run once by the MySQL image, as root and in the database `shop`, when its data directory is empty.

-- As demo/mysql_users.cpp has it: the application checks the names that it reads.
CREATE TABLE users (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(100) NOT NULL,
  email VARCHAR(100) NOT NULL
) ENGINE = InnoDB;

SET SESSION cte_max_recursion_depth = 1000;
INSERT INTO users (id, name, email)
WITH RECURSIVE thousand (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM thousand WHERE n < 999)
SELECT id, CONCAT('user number ', id), CONCAT(id, '@shop.example')
FROM (SELECT high.n * 1000 + low.n + 1 AS id FROM thousand AS high CROSS JOIN thousand AS low) AS ids;

-- All that the guard needs. The password is as docker-compose.yml gives it to the guard; only its network reaches MySQL.
CREATE USER guard@'%' IDENTIFIED BY 'guard-demo';
GRANT SELECT ON shop.users TO guard@'%';
GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO guard@'%';
